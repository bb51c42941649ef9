#include "ackline/io/fs/memory_image.h"

#include <algorithm>
#include <cstring>

namespace ackline::io {
namespace {

bool all_zero(ByteView bytes) {
  return bytes.empty() || (bytes.front() == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

MemoryImage::Page& MemoryImage::own(std::size_t index) {
  if (index >= pages_.size()) pages_.resize(index + 1);
  auto& page = pages_[index];
  if (!page) {
    page = std::make_shared<Page>();
  } else if (page.use_count() > 1) {
    page = std::make_shared<Page>(*page);
  }
  return *page;
}

void MemoryImage::resize(std::uint64_t size) {
  const bool cut = size < size_;
  size_ = size;
  if (cut) trim();
}

void MemoryImage::trim() {
  const std::size_t first_gone = static_cast<std::size_t>((size_ + kPageBytes - 1) / kPageBytes);
  if (pages_.size() > first_gone) pages_.resize(first_gone);
  const std::size_t inside = static_cast<std::size_t>(size_ % kPageBytes);
  if (inside == 0 || pages_.size() < first_gone || !pages_[first_gone - 1]) return;
  Page& page = own(first_gone - 1);
  std::fill(page.begin() + static_cast<std::ptrdiff_t>(inside), page.end(), std::byte{0});
}

void MemoryImage::write(std::uint64_t position, ByteView bytes) {
  size_ = std::max(size_, position + bytes.size());
  while (!bytes.empty()) {
    const std::size_t inside = static_cast<std::size_t>(position % kPageBytes);
    const std::size_t count = std::min(bytes.size(), kPageBytes - inside);
    const auto index = static_cast<std::size_t>(position / kPageBytes);
    const bool there = index < pages_.size() && pages_[index];
    // A page of zeros stays none: journal files are filled with them.
    if (there || !all_zero(bytes.first(count))) {
      std::memcpy(own(index).data() + inside, bytes.data(), count);
    }
    position += count;
    bytes = bytes.subspan(count);
  }
}

std::size_t MemoryImage::read(std::uint64_t position, std::span<std::byte> out) const {
  if (position >= size_) return 0;
  const auto total =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - position));
  for (std::size_t done = 0; done < total;) {
    const std::size_t index = static_cast<std::size_t>((position + done) / kPageBytes);
    const std::size_t inside = static_cast<std::size_t>((position + done) % kPageBytes);
    const std::size_t count = std::min(total - done, kPageBytes - inside);
    if (index < pages_.size() && pages_[index]) {
      std::memcpy(out.data() + done, pages_[index]->data() + inside, count);
    } else {
      std::memset(out.data() + done, 0, count);
    }
    done += count;
  }
  return total;
}

void MemoryImage::take_page(const MemoryImage& other, std::size_t index) {
  if (index >= pages_.size()) pages_.resize(index + 1);
  pages_[index] = index < other.pages_.size() ? other.pages_[index] : nullptr;
}

void MemoryImage::take_sectors(const MemoryImage& other, std::size_t index, Random& random) {
  static constexpr Page kZeros{};
  const Page& source =
      index < other.pages_.size() && other.pages_[index] ? *other.pages_[index] : kZeros;
  for (std::size_t sector = 0; sector < kPageBytes; sector += kSectorBytes) {
    if (!random.chance(1, 2)) continue;
    std::memcpy(own(index).data() + sector, source.data() + sector, kSectorBytes);
  }
}

void MemoryImage::set_size_only(std::uint64_t size) {
  size_ = size;
}

void MemoryFile::write(std::uint64_t position, ByteView bytes) {
  if (bytes.empty()) return;
  cached.write(position, bytes);
  const std::size_t last =
      static_cast<std::size_t>((position + bytes.size() - 1) / MemoryImage::kPageBytes);
  for (auto page = static_cast<std::size_t>(position / MemoryImage::kPageBytes); page <= last;
       ++page) {
    dirty.insert(page);
  }
}

void MemoryFile::resize(std::uint64_t size) {
  const std::uint64_t low = std::min(size, cached.size());
  const std::uint64_t high = std::max(cached.size(), disk.size());
  cached.resize(size);
  if (size >= high) return;
  for (std::uint64_t at = low / MemoryImage::kPageBytes; at * MemoryImage::kPageBytes < high;
       ++at) {
    dirty.insert(static_cast<std::size_t>(at));
  }
}

void MemoryFile::sync() {
  for (const std::size_t page : dirty) disk.take_page(cached, page);
  dirty.clear();
  disk.resize(cached.size());
}

void MemoryFile::forget_dirty() {
  dirty.clear();
}

void MemoryFile::write_back(Random& random) {
  for (auto page = dirty.begin(); page != dirty.end();) {
    if (!random.chance(1, 3)) {
      ++page;
      continue;
    }
    disk.take_page(cached, *page);
    disk.set_size_only(
        std::max(disk.size(),
                 std::min<std::uint64_t>(cached.size(), (*page + 1) * MemoryImage::kPageBytes)));
    page = dirty.erase(page);
  }
}

void MemoryFile::power_cut(Random& random) {
  for (const std::size_t page : dirty) disk.take_sectors(cached, page, random);
  if (cached.size() != disk.size() && random.chance(1, 2)) disk.resize(cached.size());
  disk.trim();
  cached = disk;
  dirty.clear();
}

}  // namespace ackline::io
