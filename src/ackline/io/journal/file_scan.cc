#include "ackline/io/journal/file_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ackline::io::journal {
namespace {

// Cheap enough to ask at every eighth byte of a file.
bool may_be_mark(ByteView content, std::size_t position) {
  std::uint32_t word = 0;
  std::memcpy(&word, content.data() + position, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = std::byteswap(word);
  return word == kHeaderMagic || word == kTrailerMagic;
}

class Scanner {
 public:
  Scanner(ByteView content, const ScanRange& range)
      : content_(content), range_(range), expected_(range.first), previous_(range.previous) {}

  FileScan run() {
    while (expected_ < range_.limit) {
      if (take_at(position_) || take_at(align_up(position_, kBlockBytes))) continue;
      if (!search()) break;
    }
    scan_.used_bytes = std::min<std::uint64_t>(position_, content_.size());
    scan_.seen_through =
        std::max(scan_.seen_through, align_up(position_, kBlockBytes) + kMarkBytesMax);
    return std::move(scan_);
  }

 private:
  struct Found {
    BatchMark mark;
    std::uint64_t checksum = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    bool whole = false;
    bool by_trailer = false;
  };

  [[nodiscard]] ByteView at(std::uint64_t position) const {
    return position < content_.size() ? content_.subspan(static_cast<std::size_t>(position))
                                      : ByteView{};
  }

  // The batch whose header or trailer stands at `position`.
  [[nodiscard]] std::optional<Found> find_at(std::uint64_t position) const {
    Found found;
    auto mark = decode_mark(at(position), kHeaderMagic, found.checksum);
    if (!mark) {
      mark = decode_mark(at(position), kTrailerMagic, found.checksum);
      found.by_trailer = true;
    }
    if (!mark || mark->journal_id != range_.journal_id) return std::nullopt;
    const std::uint64_t size = mark->batch_bytes();
    if (found.by_trailer) {
      found.end = position + mark->mark_bytes();
      if (found.end < kFirstBatch + size) return std::nullopt;
      found.start = found.end - size;
    } else {
      found.start = position;
      found.end = position + size;
    }
    found.mark = std::move(*mark);
    found.whole = body_is_whole(found);
    return found;
  }

  [[nodiscard]] bool body_is_whole(const Found& found) const {
    const std::uint64_t body_at = found.start + found.mark.mark_bytes();
    if (body_at + found.mark.body_bytes > content_.size()) return false;
    return checksum64(at(body_at).first(found.mark.body_bytes)) == found.mark.body_checksum;
  }

  [[nodiscard]] bool continues_chain(const BatchMark& mark) const {
    return previous_ == 0 || mark.previous == 0 || mark.previous == previous_;
  }

  bool take_at(std::uint64_t position) {
    auto found = find_at(position);
    if (!found || found->by_trailer || !found->whole || found->mark.lsn != expected_ ||
        !continues_chain(found->mark)) {
      return false;
    }
    accept(*found);
    return true;
  }

  void accept(const Found& found) {
    note_synced(found.mark);
    if (found.by_trailer || !trailer_is_good(found)) ++scan_.repaired;
    scan_.batches.push_back({found.mark.lsn, found.start + found.mark.mark_bytes(),
                             found.mark.body_bytes, found.checksum, found.mark.previous});
    previous_ = found.checksum;
    expected_ = found.mark.lsn.next();
    position_ = found.end;
  }

  [[nodiscard]] bool trailer_is_good(const Found& found) const {
    std::uint64_t checksum = 0;
    return decode_mark(at(found.end - found.mark.mark_bytes()), kTrailerMagic, checksum)
               .has_value() &&
           checksum == found.checksum;
  }

  // Past something unreadable. False when nothing whole is left in the file.
  bool search() {
    ScannedGap gap{expected_, range_.limit.previous(), position_, {}};
    for (std::uint64_t position = align_up(position_, 8); position + kMarkBytes <= content_.size();
         position += 8) {
      if (!may_be_mark(content_, static_cast<std::size_t>(position))) continue;
      const auto found = find_at(position);
      if (!found || found->mark.lsn < expected_ || found->mark.lsn >= range_.limit) continue;
      if (found->mark.lsn == expected_ && !continues_chain(found->mark)) continue;
      note_synced(found->mark);
      if (found->whole) {
        gap.last = found->mark.lsn.previous();
        if (gap.first <= gap.last) scan_.gaps.push_back(std::move(gap));
        accept(*found);
        return true;
      }
      scan_.seen_through = std::max(scan_.seen_through, found->end);
      if (auto names = partitions_of(*found)) {
        gap.named.insert_or_assign(found->mark.lsn, std::move(*names));
      }
    }
    scan_.gaps.push_back(std::move(gap));
    return false;
  }

  [[nodiscard]] std::optional<std::vector<PartitionNumber>> partitions_of(
      const Found& found) const {
    if (found.mark.listed == 0) return found.mark.partitions;
    const std::size_t size = found.mark.list_bytes();
    const std::uint64_t list_at = found.end - found.mark.mark_bytes() - size;
    const ByteView list = at(list_at);
    if (list.size() < size) return std::nullopt;
    return decode_list(list.first(size), found.mark.listed);
  }

  void note_synced(const BatchMark& mark) {
    scan_.synced_through = std::max(scan_.synced_through, mark.synced_through);
  }

  const ByteView content_;
  const ScanRange range_;
  Lsn expected_;
  std::uint64_t previous_;
  std::uint64_t position_ = kFirstBatch;
  FileScan scan_;
};

}  // namespace

FileScan scan_file(ByteView content, const ScanRange& range) {
  return Scanner(content, range).run();
}

Lsn highest_synced_mark(ByteView content, std::uint64_t journal_id) {
  Lsn highest{0};
  for (std::size_t position = 0; position + kMarkBytes <= content.size(); position += 8) {
    if (!may_be_mark(content, position)) continue;
    for (const std::uint32_t magic : {kHeaderMagic, kTrailerMagic}) {
      std::uint64_t checksum = 0;
      const auto mark = decode_mark(content.subspan(position), magic, checksum);
      if (mark && (journal_id == 0 || mark->journal_id == journal_id)) {
        highest = std::max(highest, mark->synced_through);
      }
    }
  }
  return highest;
}

}  // namespace ackline::io::journal
