// The journal's reader. Two modes: any bytes as a file (nothing crashes, what is found lies inside
// the file, in order), and a written file with up to four bytes changed or its end cut. Law of the
// second: every batch written is either read as it was written or reported as missing, never
// silently lost, never with other content.
#include <cstdint>
#include <string>
#include <vector>

#include "ackline/io/journal/batch_builder.h"
#include "ackline/io/journal/file_scan.h"
#include "ackline/io/journal/format.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

namespace journal = ackline::io::journal;
using ackline::ByteView;
using ackline::Lsn;
using ackline::PartitionNumber;
using ackline::fuzz::Input;
using ackline::fuzz::law;

constexpr std::uint64_t kJournalId = 0x1122334455667788;

ByteView body_of(const std::string& file, const journal::ScannedBatch& batch) {
  return ackline::as_bytes(file).subspan(batch.body_at, batch.body_bytes);
}

void check_bounds(const std::string& file, const journal::FileScan& scan) {
  std::uint64_t end = 0;
  Lsn last;
  for (const journal::ScannedBatch& batch : scan.batches) {
    law(batch.body_at >= end && batch.body_at + batch.body_bytes <= file.size(),
        "batches lie in the file, one behind the other");
    law(batch.lsn > last, "batches ascend");
    last = batch.lsn;
    end = batch.body_at + batch.body_bytes;
    ByteView body = body_of(file, batch);
    while (!body.empty() && journal::take_record(body)) {
    }
  }
}

void any_bytes(Input& input) {
  std::string file(journal::kFirstBatch, '\0');
  file += input.rest();
  check_bounds(file, journal::scan_file(ackline::as_bytes(file), {.journal_id = kJournalId,
                                                                  .first = Lsn(1),
                                                                  .limit = Lsn(1'000'000),
                                                                  .previous = 0}));
}

struct Written {
  std::string file;
  std::vector<std::string> bodies;  // of lsn 1, 2, …
};

Written write_file(Input& input) {
  Written written{.file = std::string(journal::kFirstBatch, '\0'), .bodies = {}};
  journal::BatchBuilder builder;
  std::uint64_t previous = 0;
  Lsn synced;
  const int count = input.byte() % 6 + 1;
  for (int i = 0; i < count; ++i) {
    builder.clear();
    for (int records = input.byte() % 4 + 1; records > 0; --records) {
      const auto type = input.byte();
      const PartitionNumber partition(input.byte());
      builder.add(type, partition, ackline::as_bytes(input.text(input.byte() % 64U)));
    }
    const Lsn lsn(static_cast<std::uint64_t>(i) + 1);
    const auto sealed = builder.seal(kJournalId, lsn, synced, previous);
    previous = sealed.checksum;
    const std::size_t header = written.file.size();
    written.file.append(ackline::as_text(sealed.bytes));
    std::uint64_t ignored = 0;
    const auto mark = journal::decode_mark(ackline::as_bytes(written.file).subspan(header),
                                           journal::kHeaderMagic, ignored);
    law(mark.has_value(), "a sealed batch has its mark");
    written.bodies.push_back(written.file.substr(header + mark->mark_bytes(), mark->body_bytes));
    if (input.byte() % 3 == 0) {  // a sync: the next batch begins a block
      synced = lsn;
      written.file.resize(journal::align_up(written.file.size(), journal::kBlockBytes));
    }
  }
  return written;
}

void check_scan(const Written& written, const std::string& file, bool damaged) {
  const Lsn limit(written.bodies.size() + 1);
  const journal::FileScan scan = journal::scan_file(
      ackline::as_bytes(file),
      {.journal_id = kJournalId, .first = Lsn(1), .limit = limit, .previous = 0});
  check_bounds(file, scan);
  ackline::fuzz::planted(damaged && scan.gaps.size() == 2);
  std::vector<int> accounted(written.bodies.size(), 0);
  for (const journal::ScannedBatch& batch : scan.batches) {
    law(batch.lsn >= Lsn(1) && batch.lsn < limit, "no batch is made up");
    const std::size_t i = batch.lsn.value() - 1;
    law(ackline::as_text(body_of(file, batch)) == written.bodies[i], "a batch is as written");
    ++accounted[i];
  }
  for (const journal::ScannedGap& gap : scan.gaps) {
    law(damaged, "an undamaged file has no gap");
    for (Lsn lsn = gap.first; lsn <= gap.last && lsn < limit; ++lsn) {
      ++accounted[lsn.value() - 1];
    }
  }
  for (const int times : accounted) law(times == 1, "each batch is read or reported, once");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if (input.byte() % 2 == 0) {
    any_bytes(input);
    return 0;
  }
  // The damage first: what follows is as long as the input likes.
  struct Flip {
    std::uint32_t at;
    std::uint8_t mask;
  };
  std::vector<Flip> flips;
  for (int count = input.byte() % 5; count > 0; --count) {
    const std::uint32_t at = input.small();
    flips.push_back({at, input.byte()});
  }
  const std::uint32_t cut = input.byte() % 4 == 0 ? input.small() : 0;
  const Written written = write_file(input);
  check_scan(written, written.file, false);
  std::string file = written.file;
  for (const Flip& flip : flips) {
    char& byte = file[journal::kFirstBatch + flip.at % (file.size() - journal::kFirstBatch)];
    byte = static_cast<char>(static_cast<std::uint8_t>(byte) ^ flip.mask);
  }
  if (cut > 0) file.resize(file.size() - cut % (file.size() - journal::kFirstBatch));
  check_scan(written, file, true);
  return 0;
}
