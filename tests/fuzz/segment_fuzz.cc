// The reader of partition segments, and the decoders of index files, sections and publish bodies.
// Law of the reader: a written segment is read back record by record; with up to three bytes
// changed it answers `corrupt` or yields only records as they were written. Law of the decoders:
// what they accept is written and read again as the same.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ackline/log/local/chunk.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/records.h"
#include "ackline/log/local/segment_index.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

namespace format = ackline::log::format;
using ackline::ByteView;
using ackline::ErrorCode;
using ackline::Offset;
using ackline::PartitionNumber;
using ackline::Result;
using ackline::WallMs;
using ackline::fuzz::Input;
using ackline::fuzz::law;

constexpr PartitionNumber kPartition{7};

class StringFile final : public ackline::io::File {
 public:
  explicit StringFile(const std::string& content) : content_(content) {}
  Result<void> write(std::uint64_t, ByteView) override { return refuse(); }
  Result<std::size_t> read(std::uint64_t position, std::span<std::byte> out) const override {
    if (position >= content_.size()) return 0;
    const std::size_t count = std::min(out.size(), content_.size() - position);
    if (count > 0) std::memcpy(out.data(), content_.data() + position, count);
    return count;
  }
  Result<std::size_t> read_nowait(std::uint64_t position, std::span<std::byte> out) const override {
    return read(position, out);
  }
  Result<void> sync() override { return refuse(); }
  Result<void> resize(std::uint64_t) override { return refuse(); }
  Result<std::uint64_t> size() const override { return content_.size(); }

 private:
  static Result<void> refuse() { return ackline::fail(ErrorCode::kUnavailable, "read only"); }
  const std::string& content_;
};

struct Written {
  Offset base;
  std::string file;
  std::vector<std::string> frames;
  std::vector<std::uint64_t> positions;
};

Written write_segment(Input& input) {
  Written written;
  written.base = Offset(static_cast<std::int64_t>(input.number() >> 24U));
  written.file = format::segment_header(kPartition, written.base);
  const std::uint64_t identity = format::segment_identity(kPartition, written.base);
  for (int count = input.byte() % 6 + 1; count > 0; --count) {
    const std::string frame(input.text(input.byte() % 80U + 1));
    const std::size_t at = written.file.size();
    written.positions.push_back(at);
    written.file.resize(at + format::kRecordHeaderBytes + frame.size());
    format::encode_record(reinterpret_cast<std::byte*>(written.file.data()) + at, identity,
                          written.base.plus(static_cast<std::int64_t>(written.frames.size())),
                          WallMs(input.byte()), ackline::as_bytes(frame));
    written.frames.push_back(frame);
  }
  return written;
}

void check_read(const Written& written, const std::string& file, std::size_t from,
                std::uint32_t fetch_bytes, bool damaged) {
  const StringFile reader(file);
  const Offset first = written.base.plus(static_cast<std::int64_t>(from));
  const auto chunk = ackline::log::load_chunk(reader,
                                              {.partition = kPartition,
                                               .segment = written.base,
                                               .start = {first, written.positions[from]},
                                               .must_have = first,
                                               .segment_length = written.file.size(),
                                               .fetch_bytes = fetch_bytes,
                                               .path = "f"},
                                              true);
  if (!chunk) {
    law(damaged, "an undamaged segment is read");
    law(chunk.error().code == ErrorCode::kCorrupt, "damage is `corrupt`");
    return;
  }
  law((*chunk)->contains(first), "the record asked for is there");
  ackline::fuzz::planted(damaged && (*chunk)->end() == first.plus(5));
  law((*chunk)->first() == first, "a chunk begins where it was asked to");
  for (Offset offset = first; offset < (*chunk)->end(); ++offset) {
    const auto i = static_cast<std::size_t>(offset.value() - written.base.value());
    law(i < written.frames.size(), "no record is made up");
    const auto event = (*chunk)->event(offset);
    law(event.offset == offset, "a record has its offset");
    law(ackline::as_text(event.frame) == written.frames[i], "a record is as written");
  }
}

void damaged_segment(Input& input) {
  struct Flip {
    std::uint32_t at;
    std::uint8_t mask;
  };
  std::vector<Flip> flips;
  for (int count = input.byte() % 4; count > 0; --count) {
    const std::uint32_t at = input.small();
    flips.push_back({at, input.byte()});
  }
  const std::uint8_t cut = input.byte();
  const std::uint8_t start = input.byte();
  const std::uint32_t fetch_bytes = input.byte() * 4U + 1;
  const Written written = write_segment(input);
  const std::size_t from = start % written.frames.size();
  check_read(written, written.file, from, fetch_bytes, false);
  std::string file = written.file;
  for (const Flip& flip : flips) {
    char& byte = file[flip.at % file.size()];
    byte = static_cast<char>(static_cast<std::uint8_t>(byte) ^ flip.mask);
  }
  if (cut % 4 == 0) file.resize(file.size() - cut % file.size());
  check_read(written, file, from, fetch_bytes, true);
}

void decode_others(Input& input) {
  const ByteView bytes = ackline::as_bytes(input.rest());
  if (const auto section = ackline::log::decode_section(input.rest())) {
    const std::string once = ackline::log::encode_section(*section);
    const auto again = ackline::log::decode_section(once);
    law(again.has_value(), "a written section can be read");
    law(ackline::log::encode_section(*again) == once, "a section is kept");
  }
  if (const auto body = ackline::log::decode_publish(bytes)) {
    std::string text;
    ackline::log::encode_publish_head(text, *body, body->records.size());
    text.append(ackline::as_text(body->records));
    const auto again = ackline::log::decode_publish(ackline::as_bytes(text));
    law(again && again->base == body->base && again->events == body->events &&
            again->time == body->time && again->position == body->position &&
            ackline::as_text(again->records) == ackline::as_text(body->records),
        "a publish body is kept");
  }
  const ackline::log::SegmentFacts facts{
      .base = Offset(0), .end = Offset(1000), .length = 1 << 20, .max_time = WallMs(1)};
  if (const auto index = ackline::log::decode_index_file(kPartition, facts, bytes)) {
    const std::string once = ackline::log::encode_index_file(kPartition, facts, *index);
    const auto again = ackline::log::decode_index_file(kPartition, facts, ackline::as_bytes(once));
    law(again && again->entries() == index->entries(), "an index is kept");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if (input.byte() % 4 == 0) {
    decode_others(input);
  } else {
    damaged_segment(input);
  }
  return 0;
}
