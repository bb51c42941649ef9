#include "ackline/io/journal/recovery.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "ackline/base/plants.h"
#include "ackline/io/journal/file_names.h"
#include "ackline/io/journal/file_scan.h"
#include "ackline/io/journal/format.h"

namespace ackline::io {
namespace {

using namespace journal;

constexpr Lsn kNoLimit{UINT64_MAX};

struct FoundFile {
  std::string name;
  FileHeader header;
  Lsn limit = kNoLimit;     // a later file starts here
  std::uint64_t bytes = 0;  // what is there of header.size
  FileScan scan;
  bool damaged = false;
};

// A hole in the chain, with the file to name in the message ("": behind all of them).
struct Hole {
  ScannedGap gap;
  std::string file;
};

class Recovery {
 public:
  Recovery(FileSystem& fs, const std::string& directory, const RecoverOptions& options)
      : fs_(fs), directory_(directory), options_(options) {}

  Result<JournalRecovery> run(const RecoveryBegin& begin, const RecordVisitor& visit) {
    if (auto done = find_files(); !done) return fail(done);
    order_files();
    if (auto done = scan_files(); !done) return fail(done);
    judge();
    describe_files();
    if (auto done = collect_kept(); !done) return fail(done);
    if (begin) {
      if (auto done = begin(result_); !done) return fail(done);
    }
    if (auto done = visit_all(visit); !done) return fail(done);
    return std::move(result_);
  }

 private:
  Result<void> find_files() {
    auto there = fs_.exists(directory_);
    if (!there) return fail(there);
    if (!*there) return {};
    auto names = fs_.list(directory_);
    if (!names) return fail(names);
    for (const std::string& name : *names) {
      if (name == kHalfMadeName) result_.leftovers.push_back(name);
      const auto number = file_number(name);
      if (!number) continue;
      result_.next_number = std::max(result_.next_number, *number + 1);
      if (auto done = read_header(name); !done) return done;
    }
    return {};
  }

  Result<void> read_header(const std::string& name) {
    auto file = fs_.open(join(directory_, name), OpenMode::kRead);
    if (!file) return fail(file);
    std::optional<FileHeader> best;
    bool blank = true;
    int good = 0;
    for (const std::uint64_t position : {std::uint64_t{0}, kSecondHeader}) {
      std::array<std::byte, kFileHeaderBytes> bytes{};
      auto count = (*file)->read(position, bytes);
      if (!count) return fail(count);
      FileHeader header;
      const HeaderState state = decode_file_header(bytes, header);
      if (state == HeaderState::kNewer) return newer_version(name, header);
      if (state != HeaderState::kBlank) blank = false;
      if (state != HeaderState::kGood) continue;
      ++good;
      // Two that differ: the write of the new header was torn.
      if (!best || header.sequence > best->sequence) best = header;
    }
    if (best) {
      if (good == 1) ++result_.repaired_headers;
      return add_file(name, *best);
    }
    if (blank) return add_blank(name, **file);
    unreadable_.push_back(name);
    return {};
  }

  // No header at all: never used, unless a zeroed header hides batches.
  Result<void> add_blank(const std::string& name, const File& file) {
    auto content = read_all(file);
    if (!content) return fail(content);
    // All bytes equal the one before, and the first is zero.
    const bool used = !content->empty() &&
                      (content->front() != 0 ||
                       std::memcmp(content->data(), content->data() + 1, content->size() - 1) != 0);
    (used ? unreadable_ : result_.leftovers).push_back(name);
    return {};
  }

  Result<void> newer_version(const std::string& name, const FileHeader& header) const {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} has journal format version {}; this program knows version {}",
                            join(directory_, name), header.version, kVersion),
                "Start the release that wrote it, or a newer one.");
  }

  Result<void> add_file(const std::string& name, const FileHeader& header) {
    if (!options_.any_shard && header.shard != options_.shard) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("{} is of shard {}, not of shard {}", join(directory_, name),
                              header.shard.value(), options_.shard.value()),
                  "Put the files back where they were.");
    }
    if (result_.journal_id != 0 && header.journal_id != result_.journal_id) {
      return fail(
          ErrorCode::kCorrupt,
          fmt::format("{} is of another journal than the files beside it", join(directory_, name)),
          "Put the files back where they were.");
    }
    result_.journal_id = header.journal_id;
    files_.push_back({.name = name, .header = header, .scan = {}});
    return {};
  }

  void order_files() {
    std::ranges::sort(files_, {}, [](const FoundFile& f) { return f.header.sequence; });
    Lsn limit = kNoLimit;
    for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
      file->limit = limit;
      limit = std::min(limit, file->header.first);
    }
    if (!files_.empty()) result_.next_sequence = files_.back().header.sequence + 1;
  }

  // A file counts from its first batch to where a later one starts.
  [[nodiscard]] bool is_live(const FoundFile& file) const {
    return file.header.first < file.limit && file.limit > options_.lowest_needed;
  }

  Result<void> scan_files() {
    std::uint64_t previous = 0;
    Lsn next{0};
    for (FoundFile& file : files_) {
      if (!is_live(file)) continue;
      auto content = load(file.name);
      if (!content) return fail(content);
      file.bytes = content->size();
      result_.bytes_read += file.bytes;
      if (next != file.header.first) previous = 0;
      file.scan = scan_file(as_bytes(*content), {.journal_id = result_.journal_id,
                                                 .first = file.header.first,
                                                 .limit = file.limit,
                                                 .previous = previous});
      known_synced_ = std::max(known_synced_, file.scan.synced_through);
      result_.repaired_headers += file.scan.repaired;
      const auto& batches = file.scan.batches;
      previous = batches.empty() ? 0 : batches.back().checksum;
      next = batches.empty() ? file.header.first : batches.back().lsn.next();
    }
    for (const std::string& name : unreadable_) {
      auto content = load(name);
      if (!content) return fail(content);
      known_synced_ =
          std::max(known_synced_, highest_synced_mark(as_bytes(*content), result_.journal_id));
    }
    known_synced_ = std::max(known_synced_, options_.synced_at_least);
    // The file that was written to then is gone, with whatever came after.
    if (options_.journal_id != 0 && std::ranges::none_of(files_, [this](const FoundFile& file) {
          return is_live(file) && reach(file) >= options_.synced_at_least;
        })) {
      known_synced_ = std::max(known_synced_, options_.synced_at_least.next());
    }
    for (FoundFile& file : files_) {
      if (!is_cut_short(file)) continue;
      // What is left of the marks tells of one batch, not of those that followed it.
      file.scan.gaps.back().named.clear();
      known_synced_ = std::max(known_synced_, file.scan.batches.back().lsn.next());
    }
    return {};
  }

  // Something took the end of the file away, and it was not empty there: a batch at least is gone.
  [[nodiscard]] bool is_cut_short(const FoundFile& file) const {
    const auto& batches = file.scan.batches;
    return is_live(file) && !batches.empty() && batches.front().lsn <= known_synced_ &&
           batches.back().lsn.next() < file.limit && file.bytes < file.header.size &&
           file.bytes < file.scan.seen_through;
  }

  // Every stretch of lsns, from the lowest needed one, that no file has.
  [[nodiscard]] std::vector<Hole> holes() const {
    std::vector<Hole> all;
    Lsn next = options_.lowest_needed;
    for (const FoundFile& file : files_) {
      if (!is_live(file)) continue;
      if (file.header.first > next) {
        all.push_back({{next, file.header.first.previous(), 0, {}}, "before " + file.name});
      }
      for (const ScannedGap& gap : file.scan.gaps) {
        if (gap.last >= options_.lowest_needed) all.push_back({gap, file.name});
      }
      next = std::max(next, file.limit);
    }
    if (next != kNoLimit) all.push_back({{next, kNoLimit, 0, {}}, {}});
    return all;
  }

  void judge() {
    result_.synced = known_synced_;
    report_another_journal();
    Lsn last = kNoLimit;
    for (Hole& hole : holes()) {
      ScannedGap& gap = hole.gap;
      gap.first = std::max(gap.first, options_.lowest_needed);
      if (gap.first <= known_synced_) report(hole, std::min(gap.last, known_synced_));
      if (gap.last > known_synced_) {
        last = std::max(gap.first.previous(), known_synced_);
        break;
      }
    }
    result_.last = last == kNoLimit ? last_found() : last;
    // What was synced without a later batch to say so is taken for a tail.
    if (plant(Plant::kCutBelowLastSync)) result_.last = result_.synced;
    for (const FoundFile& file : files_) {
      for (const ScannedBatch& batch : file.scan.batches) {
        if (batch.lsn > result_.last) ++result_.cut_batches;
        if (batch.lsn == result_.last) result_.last_checksum = batch.checksum;
        if (batch.lsn == result_.synced) result_.synced_checksum = batch.checksum;
      }
    }
  }

  static Lsn reach(const FoundFile& file) {
    return file.scan.batches.empty() ? file.header.first.previous() : file.scan.batches.back().lsn;
  }

  [[nodiscard]] Lsn last_found() const {
    Lsn last = known_synced_;
    for (const FoundFile& file : files_) {
      if (!file.scan.batches.empty()) last = std::max(last, file.scan.batches.back().lsn);
    }
    return last;
  }

  void report_another_journal() {
    const std::uint64_t wanted = options_.journal_id;
    if (wanted == 0 || result_.journal_id == 0 || wanted == result_.journal_id) return;
    JournalDamage other{options_.lowest_needed, known_synced_.next(), true, {}, {}};
    other.detail = directory_ + ": the files are not of the journal that the last start wrote to";
    result_.damage.push_back(std::move(other));
  }

  void report(const Hole& hole, Lsn last) {
    JournalDamage damage{hole.gap.first, last, false, {}, {}};
    for (Lsn lsn = damage.first; lsn <= last; ++lsn) {
      const auto named = hole.gap.named.find(lsn);
      if (named == hole.gap.named.end()) {
        damage.every_partition = true;
        break;
      }
      damage.partitions.insert(damage.partitions.end(), named->second.begin(), named->second.end());
    }
    if (damage.every_partition) damage.partitions.clear();
    std::ranges::sort(damage.partitions);
    const auto twice = std::ranges::unique(damage.partitions);
    damage.partitions.erase(twice.begin(), twice.end());
    const std::string place =
        hole.file.empty()
            ? directory_ + ", behind all files"
            : fmt::format("{}, position {}", join(directory_, hole.file), hole.gap.position);
    damage.detail = fmt::format("{}: synced batches {} to {} cannot be read", place,
                                damage.first.value(), last.value());
    for (FoundFile& file : files_) {
      if (file.name == hole.file) file.damaged = true;
    }
    result_.damage.push_back(std::move(damage));
  }

  void describe_files() {
    for (const FoundFile& file : files_) {
      // What is written again goes into the new file, which starts behind `synced`.
      const Lsn limit = std::min(file.limit, result_.synced.next());
      if (file.header.first >= limit) {
        result_.leftovers.push_back(file.name);
        continue;
      }
      result_.files.push_back({file.name, file.header.sequence, file.header.first, limit.previous(),
                               file.scan.used_bytes, file.damaged});
    }
    for (const std::string& name : unreadable_) {
      result_.files.push_back({.name = name, .first = Lsn{0}, .last = Lsn{0}, .damaged = true});
    }
  }

  Result<void> collect_kept() {
    for (const FoundFile& file : files_) {
      if (file.scan.batches.empty() || file.scan.batches.back().lsn <= result_.synced) continue;
      auto content = load(file.name);
      if (!content) return fail(content);
      for (const ScannedBatch& batch : file.scan.batches) {
        if (batch.lsn <= result_.synced || batch.lsn > result_.last) continue;
        KeptBatch kept{batch.lsn, {}, content->substr(batch.body_at, batch.body_bytes)};
        ByteView body = as_bytes(kept.body);
        while (!body.empty()) {
          const auto record = take_record(body);
          if (!record) return malformed(file, batch);
          kept.partitions.push_back(record->partition);
        }
        result_.kept.push_back(std::move(kept));
      }
    }
    return {};
  }

  Result<void> visit_all(const RecordVisitor& visit) {
    for (const FoundFile& file : files_) {
      if (file.scan.batches.empty()) continue;
      auto content = load(file.name);
      if (!content) return fail(content);
      for (const ScannedBatch& batch : file.scan.batches) {
        if (batch.lsn < options_.lowest_needed || batch.lsn > result_.last) continue;
        ++result_.batches;
        ByteView body = as_bytes(*content).subspan(batch.body_at, batch.body_bytes);
        while (!body.empty()) {
          const auto record = take_record(body);
          if (!record) return malformed(file, batch);
          ++result_.records;
          if (auto done = visit(batch.lsn, *record); !done) return done;
        }
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> malformed(const FoundFile& file, const ScannedBatch& batch) const {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{}: batch {} has a right checksum and a malformed record",
                            join(directory_, file.name), batch.lsn.value()),
                "Start the release that wrote it; report this.");
  }

  Result<std::string> load(const std::string& name) {
    auto file = fs_.open(join(directory_, name), OpenMode::kRead);
    if (!file) return fail(file);
    return read_all(**file);
  }

  static Result<std::string> read_all(const File& file) {
    auto size = file.size();
    if (!size) return fail(size);
    std::string content(static_cast<std::size_t>(*size), '\0');
    auto count = file.read(0, std::as_writable_bytes(std::span(content)));
    if (!count) return fail(count);
    content.resize(*count);
    return content;
  }

  FileSystem& fs_;
  const std::string& directory_;
  const RecoverOptions& options_;
  std::vector<FoundFile> files_;
  std::vector<std::string> unreadable_;  // neither header copy can be read
  Lsn known_synced_{0};
  JournalRecovery result_;
};

}  // namespace

bool JournalRecovery::is_damaged(PartitionNumber partition) const {
  return std::ranges::any_of(damage, [&](const JournalDamage& d) {
    return d.every_partition || std::ranges::binary_search(d.partitions, partition);
  });
}

Result<JournalRecovery> recover_journal(FileSystem& fs, const std::string& directory,
                                        const RecoverOptions& options, const RecoveryBegin& begin,
                                        const RecordVisitor& visit) {
  return Recovery(fs, directory, options).run(begin, visit);
}

Result<void> remove_journal(FileSystem& fs, const std::string& directory) {
  if (auto done = fs.remove_all(directory); !done) return done;
  return fs.sync_directory(parent_of(directory));
}

}  // namespace ackline::io
