#include "ackline/log/local/doctor_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/log/local/format.h"

namespace ackline::log {

namespace {

constexpr std::uint64_t kBlockBytes = 1024 * 1024;
constexpr std::size_t kHeaderFieldsBytes = 24;

struct RecordHead {
  std::uint64_t checksum = 0;
  std::uint64_t length = 0;
  std::int64_t offset = 0;
  std::int64_t time = 0;
};

RecordHead decode_head(ByteView bytes) {
  ByteReader reader(bytes);
  RecordHead head;
  head.checksum = reader.u64();
  head.length = reader.u32();
  head.offset = static_cast<std::int64_t>(reader.u64());
  head.time = static_cast<std::int64_t>(reader.u64());
  return head;
}

}  // namespace

Result<SegmentScan> SegmentScan::open(io::FileSystem& fs, const std::string& path,
                                      PartitionNumber number, Offset base) {
  SegmentScan scan;
  Result<std::unique_ptr<io::File>> file = fs.open(path, io::OpenMode::kRead);
  if (!file) return fail(file);
  scan.file_ = *std::move(file);
  const Result<std::uint64_t> size = scan.file_->size();
  if (!size) return fail(size);
  scan.file_bytes_ = *size;
  const Result<ByteView> header = scan.view(0, format::kSegmentHeaderBytes);
  if (!header) return fail(header);
  ByteReader reader(*header);
  const bool magic = as_text(reader.raw(8)) == format::kSegmentMagic;
  const std::uint32_t version = reader.u32();
  const std::uint32_t partition = reader.u32();
  const auto first = static_cast<std::int64_t>(reader.u64());
  const std::uint64_t checksum = reader.u64();
  std::string wrong;
  if (!reader.ok()) {
    wrong = "the file is shorter than its header";
  } else if (!magic) {
    wrong = "this is no segment file";
  } else if (checksum != checksum64(header->first(kHeaderFieldsBytes))) {
    wrong = "the header's checksum does not match";
  } else if (version != format::kSegmentVersion) {
    wrong = fmt::format("the header has the unknown version {}", version);
  } else if (partition != number.value() || first != base.value()) {
    wrong = fmt::format("the header is of segment {} of partition {}", first, partition);
  }
  if (!wrong.empty()) return fail(ErrorCode::kCorrupt, wrong);
  scan.identity_ = checksum;
  scan.position_ = format::kSegmentHeaderBytes;
  scan.offset_ = base;
  return scan;
}

Result<ByteView> SegmentScan::view(std::uint64_t position, std::uint64_t count) {
  if (position >= file_bytes_) return ByteView();
  count = std::min(count, file_bytes_ - position);
  const bool inside =
      position >= block_position_ && position + count <= block_position_ + block_.size();
  if (!inside) {
    block_.resize(std::min(std::max(count, kBlockBytes), file_bytes_ - position));
    block_position_ = position;
    const Result<std::size_t> got = file_->read(
        position, std::as_writable_bytes(std::span<char>(block_.data(), block_.size())));
    if (!got) return fail(got);
    block_.resize(*got);
    count = std::min<std::uint64_t>(count, *got);
  }
  return as_bytes(block_).subspan(position - block_position_, count);
}

Result<bool> SegmentScan::zeros_from(std::uint64_t position) {
  while (position < file_bytes_) {
    const Result<ByteView> bytes = view(position, kBlockBytes);
    if (!bytes) return fail(bytes);
    if (bytes->empty()) return true;
    if (std::ranges::any_of(*bytes, [](std::byte one) { return one != std::byte{0}; })) {
      return false;
    }
    position += bytes->size();
  }
  return true;
}

void SegmentScan::stop_bad(std::string fault) {
  end_ = End::kBad;
  fault_ = std::move(fault);
}

Result<std::optional<SegmentScan::Record>> SegmentScan::next() {
  if (end_ != End::kNone) return std::nullopt;
  const Result<ByteView> start = view(position_, format::kRecordHeaderBytes);
  if (!start) return fail(start);
  if (start->empty()) {
    end_ = End::kClean;
    return std::nullopt;
  }
  const bool maybe_zeros = start->front() == std::byte{0} && start->back() == std::byte{0};
  const Result<bool> zeros = maybe_zeros ? zeros_from(position_) : Result<bool>(false);
  if (!zeros) return fail(zeros);
  if (*zeros) {
    end_ = End::kClean;
    return std::nullopt;
  }
  const Result<ByteView> header = view(position_, format::kRecordHeaderBytes);
  if (!header) return fail(header);
  if (header->size() < format::kRecordHeaderBytes) {
    stop_bad("a record's header is cut off");
    return std::nullopt;
  }
  const RecordHead head = decode_head(*header);
  const std::uint64_t total = format::kRecordHeaderBytes + head.length;
  if (total > file_bytes_ - position_) {
    stop_bad("a record runs beyond the end of the file");
    return std::nullopt;
  }
  const Result<ByteView> record = view(position_, total);
  if (!record) return fail(record);
  if (record->size() < total || (checksum64(record->subspan(8)) ^ identity_) != head.checksum) {
    stop_bad(fmt::format("the checksum of offset {} does not match", offset_.value()));
    return std::nullopt;
  }
  if (head.offset != offset_.value()) {
    stop_bad(fmt::format("offset {} stands where {} should", head.offset, offset_.value()));
    return std::nullopt;
  }
  const Record found{offset_, WallMs(head.time), position_, total};
  position_ += total;
  ++offset_;
  return found;
}

Result<std::optional<std::uint64_t>> SegmentScan::find_later() {
  for (std::uint64_t at = position_ + 1; at + format::kRecordHeaderBytes <= file_bytes_; ++at) {
    const Result<ByteView> header = view(at, format::kRecordHeaderBytes);
    if (!header) return fail(header);
    if (header->size() < format::kRecordHeaderBytes) break;
    const RecordHead head = decode_head(*header);
    const std::uint64_t total = format::kRecordHeaderBytes + head.length;
    // A later record of this file: its offset cannot be further on than its bytes allow.
    const bool plausible = head.offset > offset_.value() && total <= file_bytes_ - at &&
                           static_cast<std::uint64_t>(head.offset - offset_.value()) <=
                               (at - position_) / format::kRecordHeaderBytes + 1;
    if (!plausible) continue;
    const Result<ByteView> record = view(at, total);
    if (!record) return fail(record);
    if (record->size() == total && (checksum64(record->subspan(8)) ^ identity_) == head.checksum) {
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace ackline::log
