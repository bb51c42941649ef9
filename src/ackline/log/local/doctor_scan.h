// The doctor's own reader of one segment file, record by record, in blocks.
//
// Written from docs/formats/segment.md; shares no decoding with the log. Blocks; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/io/fs/file_system.h"

namespace ackline::log {

class SegmentScan {
 public:
  struct Record {
    Offset offset;
    WallMs time;
    std::uint64_t position = 0;
    std::uint64_t bytes = 0;  // header included
  };
  // How the scan ended.
  enum class End : std::uint8_t {
    kNone,   // it has not
    kClean,  // at the end of the file, or zeros from there on (preallocated)
    kBad,    // what follows is no record
  };

  // Reads the header. Errors: kCorrupt (not the header of this segment), the file's own.
  [[nodiscard]] static Result<SegmentScan> open(io::FileSystem& fs, const std::string& path,
                                                PartitionNumber number, Offset base);

  // The next good record; nullopt at the end. Errors: the file's own.
  [[nodiscard]] Result<std::optional<Record>> next();
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] const std::string& fault() const { return fault_; }  // when kBad
  // Where the next record would be, and its offset.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] Offset offset() const { return offset_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }
  // After kBad: the position of a later good record of this segment, if there is one. Such a record
  // says that the bad one is no torn end.
  [[nodiscard]] Result<std::optional<std::uint64_t>> find_later();

 private:
  // The bytes [position, position + count) of the file, fewer at its end; valid until the next
  // call.
  [[nodiscard]] Result<ByteView> view(std::uint64_t position, std::uint64_t count);
  [[nodiscard]] Result<bool> zeros_from(std::uint64_t position);
  void stop_bad(std::string fault);

  std::unique_ptr<io::File> file_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t identity_ = 0;
  std::uint64_t position_ = 0;
  Offset offset_;
  End end_ = End::kNone;
  std::string fault_;
  std::string block_;
  std::uint64_t block_position_ = 0;
};

}  // namespace ackline::log
