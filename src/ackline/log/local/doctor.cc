#include "ackline/log/local/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ackline/log/local/doctor_scan.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/records.h"

namespace ackline::log {

namespace {

constexpr std::string_view kRestore =
    "Restore the file from a backup, or move the partition's directory away to give its events up.";
constexpr std::string_view kDropIndex = "Remove the index file; it is made again from the segment.";
constexpr std::string_view kRemove = "Remove it.";
constexpr std::string_view kRemoveLater = "Remove it once nothing is missing.";
constexpr std::string_view kLeave = "Nothing to do: the next start cuts it off and refills it.";

struct IndexFile {
  Offset end;
  std::uint64_t length = 0;
  std::int64_t max_time = 0;
  std::map<std::int64_t, std::uint64_t> places;  // offset to position
};

// The doctor's own decoder of index files; the sentence when it is none.
std::expected<IndexFile, std::string> decode_index(std::string_view bytes, PartitionNumber number,
                                                   Offset base) {
  const auto wrong = [](std::string_view what) { return std::unexpected(std::string(what)); };
  if (bytes.size() < 8) return wrong("the index is too short");
  const std::string_view body = bytes.substr(0, bytes.size() - 8);
  ByteReader tail(as_bytes(bytes.substr(body.size())));
  if (tail.u64() != checksum64(as_bytes(body))) return wrong("the index's checksum does not match");
  ByteReader reader(as_bytes(body));
  if (as_text(reader.raw(8)) != format::kIndexMagic || reader.u32() != format::kIndexVersion) {
    return wrong("this is no index file of a known version");
  }
  const bool ours =
      reader.u32() == number.value() && reader.u64() == static_cast<std::uint64_t>(base.value());
  IndexFile index;
  index.end = Offset(static_cast<std::int64_t>(reader.u64()));
  index.length = reader.u64();
  index.max_time = static_cast<std::int64_t>(reader.u64());
  const std::uint64_t count = reader.varint();
  std::int64_t offset = base.value();
  std::uint64_t position = format::kSegmentHeaderBytes;
  for (std::uint64_t i = 0; reader.ok() && i < count; ++i) {
    if (i > 0) {
      offset += static_cast<std::int64_t>(reader.varint());
      position += reader.varint();
      static_cast<void>(reader.svarint());
    }
    index.places[offset] = position;
  }
  if (!reader.ok() || !reader.empty() || !ours) return wrong("the index does not fit its segment");
  return index;
}

class Examination {
 public:
  Examination(io::FileSystem& fs, std::string directory, PartitionNumber number, Offset log_start)
      : fs_(fs), directory_(std::move(directory)), number_(number), log_start_(log_start) {}

  Result<PartitionReport> run(std::optional<std::string_view> section) {
    if (section) read_section(*section);
    const Result<std::vector<std::string>> names = fs_.list(directory_);
    if (!names && names.error().code != ErrorCode::kNotFound) return fail(names);
    if (names) sort_names(*names);
    for (auto it = logs_.begin(); it != logs_.end(); ++it) {
      segment(*it, std::next(it) == logs_.end());
    }
    for (const auto& [base, facts] : known_) {
      if (facts.end <= log_start_) continue;
      if (!std::ranges::binary_search(logs_, Offset(base))) {
        problem(Severity::kDamage, format::segment_name(Offset(base)), 0,
                "The checkpoint knows this file, but it is missing.", kRestore);
      }
    }
    return std::move(report_);
  }

 private:
  void problem(Severity severity, const std::string& name, std::uint64_t position, std::string what,
               std::string_view remedy) {
    Problem found{.severity = severity,
                  .file = io::join(directory_, name),
                  .position = position,
                  .what = std::move(what),
                  .remedy = std::string(remedy),
                  .mend_file = {},
                  .segment = {}};
    const auto segment = format::parse_segment_name(name);
    if (remedy == kRestore && segment) {
      found.mend = Mend::kGiveUp;
      found.segment = *segment;
    } else if (remedy == kDropIndex && segment) {
      found.mend = Mend::kRemoveFile;
      found.mend_file = io::join(directory_, format::index_name(*segment));
    } else if (remedy == kDropIndex || remedy == kRemove || remedy == kRemoveLater) {
      found.mend = Mend::kRemoveFile;
      found.mend_file = found.file;
    }
    report_.problems.push_back(std::move(found));
  }

  void read_section(std::string_view bytes) {
    const Result<Section> section = decode_section(bytes);
    if (!section) {
      problem(Severity::kDamage, "", 0, section.error().detail + ".",
              "Restore the checkpoint's manifest from a backup.");
      return;
    }
    log_start_ = std::max(log_start_, section->log_start);
    for (const SectionSegment& one : section->segments) known_[one.facts.base.value()] = one.facts;
  }

  void sort_names(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (const auto base = format::parse_segment_name(name)) {
        logs_.push_back(*base);
      } else if (name.ends_with(".log.stray")) {
        problem(Severity::kNote, name, 0,
                "A file that no checkpoint and no journal knew at a start was put aside.",
                kRemoveLater);
      } else if (!format::parse_index_name(name)) {
        problem(Severity::kNote, name, 0, "This is no file of ours.", kRemove);
      }
    }
    std::ranges::sort(logs_);
    for (const std::string& name : names) {
      const auto base = format::parse_index_name(name);
      if (base && !std::ranges::binary_search(logs_, *base)) {
        problem(Severity::kNote, name, 0, "An index without its segment.", kRemove);
      }
    }
  }

  void segment(Offset base, bool newest) {
    const std::string name = format::segment_name(base);
    const auto known = known_.find(base.value());
    const std::uint64_t sure = known == known_.end() ? 0 : known->second.length;
    const std::optional<IndexFile> index = read_index(base);
    // Below the log start files may be gone in any order.
    if (expected_ && base != *expected_ && base > log_start_) {
      const bool fresh = known == known_.end() && !known_.empty();
      problem(fresh ? Severity::kNote : Severity::kDamage, name, 0,
              fmt::format("The segment begins at offset {}, expected was {}.", base.value(),
                          expected_->value()),
              fresh ? kLeave : kRestore);
    }
    SegmentReport report{io::join(directory_, name), base, base, 0, 0, index.has_value()};
    Result<SegmentScan> scan = SegmentScan::open(fs_, io::join(directory_, name), number_, base);
    if (!scan) {
      const bool torn = sure == 0 && (newest || !known_.empty()) && !index;
      problem(torn ? Severity::kNote : Severity::kDamage, name, 0,
              fmt::format("The segment cannot be read: {}.", scan.error().detail),
              torn ? kLeave : kRestore);
      expected_ = known == known_.end() ? std::nullopt : std::optional(known->second.end);
      report_.segments.push_back(std::move(report));
      return;
    }
    records(*scan, index, name);
    report.end = scan->offset();
    report.data_bytes = scan->position();
    report.file_bytes = scan->file_bytes();
    judge_end(*scan, index, name, sure, newest);
    // Behind a bad record the next segment still has to begin where this one should have ended.
    expected_ = index                                              ? index->end
                : known != known_.end() && sure > scan->position() ? known->second.end
                                                                   : scan->offset();
    if (scan->end() == SegmentScan::End::kBad && !index && sure <= scan->position()) {
      expected_ = std::nullopt;
    }
    report_.events += scan->offset().value() - base.value();
    report_.segments.push_back(std::move(report));
  }

  std::optional<IndexFile> read_index(Offset base) {
    const std::string name = format::index_name(base);
    const Result<std::string> bytes = io::read_file(fs_, io::join(directory_, name));
    if (!bytes) {
      if (bytes.error().code != ErrorCode::kNotFound) {
        problem(Severity::kNote, name, 0, "The index cannot be read: " + bytes.error().detail + ".",
                kDropIndex);
      }
      return std::nullopt;
    }
    std::expected<IndexFile, std::string> index = decode_index(*bytes, number_, base);
    if (!index) {
      problem(Severity::kNote, name, 0, "The file is not used: " + index.error() + ".", kDropIndex);
      return std::nullopt;
    }
    return *std::move(index);
  }

  void records(SegmentScan& scan, const std::optional<IndexFile>& index, const std::string& name) {
    std::size_t matched = 0;
    std::int64_t max_time = INT64_MIN;
    while (true) {
      const auto record = scan.next();
      if (!record) {
        problem(Severity::kDamage, name, scan.position(),
                "The segment cannot be read: " + record.error().detail + ".", kRestore);
        return;
      }
      if (!*record) break;
      max_time = std::max(max_time, (*record)->time.value());
      if (!index) continue;
      const auto place = index->places.find((*record)->offset.value());
      if (place != index->places.end() && place->second == (*record)->position) ++matched;
    }
    if (!index || scan.end() == SegmentScan::End::kBad) return;
    if (matched != index->places.size() || max_time > index->max_time) {
      problem(Severity::kDamage, name, 0, "The index does not fit the records of its segment.",
              kDropIndex);
    }
  }

  void judge_end(SegmentScan& scan, const std::optional<IndexFile>& index, const std::string& name,
                 std::uint64_t sure, bool newest) {
    if (index) sure = std::max(sure, index->length);
    if (scan.position() < sure) {
      const std::string why =
          scan.end() == SegmentScan::End::kBad ? scan.fault() : std::string("the records end here");
      problem(Severity::kDamage, name, scan.position(),
              fmt::format("{}, {} bytes before the segment's end.", why, sure - scan.position()),
              kRestore);
      return;
    }
    if (scan.end() != SegmentScan::End::kBad) return;
    // Behind what is known to be whole.
    const bool torn = newest || !known_.empty();
    const Result<std::optional<std::uint64_t>> later =
        known_.empty() ? scan.find_later() : Result<std::optional<std::uint64_t>>(std::nullopt);
    const bool middle = later && later->has_value();
    problem(torn && !middle ? Severity::kNote : Severity::kDamage, name, scan.position(),
            middle ? fmt::format("{}; good records follow at byte {}.", scan.fault(), **later)
                   : fmt::format("{}; this is the end of what was written.", scan.fault()),
            torn && !middle ? kLeave : kRestore);
  }

  io::FileSystem& fs_;
  std::string directory_;
  PartitionNumber number_;
  Offset log_start_;
  std::vector<Offset> logs_;
  std::map<std::int64_t, SegmentFacts> known_;  // of the checkpoint, by base
  std::optional<Offset> expected_;              // where the next segment has to begin
  PartitionReport report_;
};

}  // namespace

bool PartitionReport::damaged() const {
  return std::ranges::any_of(problems,
                             [](const Problem& one) { return one.severity == Severity::kDamage; });
}

Result<PartitionReport> examine_partition(io::FileSystem& fs, const std::string& directory,
                                          PartitionNumber number,
                                          std::optional<std::string_view> section,
                                          Offset log_start) {
  return Examination(fs, directory, number, log_start).run(section);
}

Result<void> for_each_offset(io::FileSystem& fs, const std::string& directory,
                             PartitionNumber number, Offset from, Offset to,
                             const std::function<bool(Offset)>& each) {
  const Result<std::vector<std::string>> names = fs.list(directory);
  if (!names) {
    if (names.error().code == ErrorCode::kNotFound) return {};
    return fail(names);
  }
  std::vector<Offset> bases;
  for (const std::string& name : *names) {
    if (const auto base = format::parse_segment_name(name)) bases.push_back(*base);
  }
  std::ranges::sort(bases);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (bases[i] > to) break;
    const bool last = i + 1 == bases.size();
    if (!last && bases[i + 1] <= from) continue;
    const std::string path = io::join(directory, format::segment_name(bases[i]));
    const auto corrupt = [&](std::uint64_t position, std::string_view what) {
      return fail(ErrorCode::kCorrupt, fmt::format("{}, byte {}: {}", path, position, what),
                  "Run `ackline doctor`.");
    };
    Result<SegmentScan> scan = SegmentScan::open(fs, path, number, bases[i]);
    if (!scan) {
      return scan.error().code == ErrorCode::kCorrupt ? corrupt(0, scan.error().detail)
                                                      : fail(scan);
    }
    while (scan->offset() <= to) {
      const auto record = scan->next();
      if (!record) return fail(record);
      if (!*record) break;
      if ((*record)->offset >= from && !each((*record)->offset)) return {};
    }
    if (scan->offset() > to) return {};
    if (scan->end() == SegmentScan::End::kBad) return corrupt(scan->position(), scan->fault());
    if (!last && scan->offset() != bases[i + 1]) {
      return corrupt(scan->position(), "the records end before the next segment");
    }
  }
  return {};
}

}  // namespace ackline::log
