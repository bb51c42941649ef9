// The bytes of one file in memory, as pages that images share until one of them is written.
//
// Pages are immutable once shared: taking a copy of a whole disk or remembering what was synced
// costs a pointer per page. A null page is all zeros. Used by MemoryFileSystem, under its lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/random.h"

namespace ackline::io {

class MemoryImage {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kSectorBytes = 512;
  using Page = std::array<std::byte, kPageBytes>;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Grows with zeros or cuts; what is cut off is zero when it comes back.
  void resize(std::uint64_t size);
  // Grows the image when it must.
  void write(std::uint64_t position, ByteView bytes);
  [[nodiscard]] std::size_t read(std::uint64_t position, std::span<std::byte> out) const;

  // Takes over page `index` of `other`, or only the sectors that `random` chooses.
  void take_page(const MemoryImage& other, std::size_t index);
  void take_sectors(const MemoryImage& other, std::size_t index, Random& random);
  void set_size_only(std::uint64_t size);
  // Makes all past the end zero.
  void trim();

 private:
  [[nodiscard]] Page& own(std::size_t index);
  std::vector<std::shared_ptr<Page>> pages_;
  std::uint64_t size_ = 0;
};

// One file: what processes see and what is on disk.
struct MemoryFile {
  MemoryImage cached;
  MemoryImage disk;
  std::set<std::size_t> dirty;  // pages where they may differ

  void write(std::uint64_t position, ByteView bytes);
  void resize(std::uint64_t size);
  void sync();
  // A failed sync: the kernel forgets that the pages are dirty, so the disk keeps the old ones.
  void forget_dirty();
  void write_back(Random& random);
  void power_cut(Random& random);
};

}  // namespace ackline::io
