#include "ackline/log/local/read_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/log/local/format.h"

namespace ackline::log {

namespace {

constexpr std::uint32_t kScanBytes = 256 * 1024;

}  // namespace

void LocalReadJob::run() {
  if (in.idle) return;
  Result<void> done = open();
  if (done && in.index == nullptr) done = load_index();
  if (done) {
    const std::shared_ptr<const SegmentIndex> index = loaded_index ? loaded_index : in.index;
    if (const auto start = index->before(in.request.must_have)) in.request.start = *start;
    Result<std::shared_ptr<const Chunk>> read = load_chunk(*in.file, in.request, true);
    if (read) {
      chunk = *std::move(read);
    } else {
      done = fail(read);
    }
  }
  if (!done) error = done.error();
}

Result<void> LocalReadJob::open() {
  if (in.file != nullptr) return {};
  Result<std::unique_ptr<io::File>> file = in.fs->open(in.request.path, io::OpenMode::kRead);
  if (!file) {
    if (file.error().code != ErrorCode::kNotFound) return fail(file);
    return fail(ErrorCode::kCorrupt,
                fmt::format("{}, byte 0: the file is missing", in.request.path));
  }
  std::string header(format::kSegmentHeaderBytes, '\0');
  const Result<std::size_t> count =
      (*file)->read(0, std::as_writable_bytes(std::span<char>(header.data(), header.size())));
  if (!count) return fail(count);
  if (header != format::segment_header(in.request.partition, in.request.segment)) {
    return fail(
        ErrorCode::kCorrupt,
        fmt::format("{}, byte 0: this is not the header of segment {} of partition {}",
                    in.request.path, in.request.segment.value(), in.request.partition.value()));
  }
  in.file = *std::move(file);
  return {};
}

// A damaged or missing index costs a scan, no more: the segment is what counts.
Result<void> LocalReadJob::load_index() {
  const Result<std::string> bytes = io::read_file(*in.fs, in.index_path);
  if (!bytes && bytes.error().code != ErrorCode::kNotFound) return fail(bytes);
  if (bytes) {
    Result<SegmentIndex> index =
        decode_index_file(in.request.partition, in.facts, as_bytes(*bytes));
    if (index) {
      loaded_index = std::make_shared<SegmentIndex>(*std::move(index));
      return {};
    }
  }
  Result<SegmentIndex> rebuilt = rebuild_index();
  if (!rebuilt) return fail(rebuilt);
  loaded_index = std::make_shared<SegmentIndex>(*std::move(rebuilt));
  return {};
}

Result<SegmentIndex> LocalReadJob::rebuild_index() const {
  SegmentIndex index;
  ChunkRequest request = in.request;
  request.start = {in.facts.base, format::kSegmentHeaderBytes};
  request.fetch_bytes = kScanBytes;
  WallMs max_time = kNoTime;
  while (request.start.offset < in.facts.end) {
    request.must_have = request.start.offset;
    const Result<std::shared_ptr<const Chunk>> read = load_chunk(*in.file, request, true);
    if (!read) return fail(read);
    const Chunk& records = **read;
    for (Offset at = records.first(); at < records.end(); ++at) {
      index.add({at, records.position_of(at), max_time}, format::kIndexStepBytes);
      max_time = std::max(max_time, records.event(at).append_time);
    }
    request.start = {records.end(), records.end_position()};
  }
  return index;
}

}  // namespace ackline::log
