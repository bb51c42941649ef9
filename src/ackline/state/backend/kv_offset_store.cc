#include "ackline/state/backend/kv_offset_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include "ackline/base/bytes.h"
#include "ackline/io/failpoint.h"
#include "ackline/state/backend/sealed_value.h"

namespace ackline::state {
namespace {

constexpr std::string_view kWhat = "offset";
constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kWithoutProgress = 1;

std::string text_of(const OffsetKey& key) {
  return fmt::format("{}#{}#{}", key.topic, key.group, key.partition.value());
}

Result<OffsetKey> parse_key(std::string_view text) {
  const std::size_t first = text.find('#');
  const std::size_t second = first == std::string_view::npos ? first : text.find('#', first + 1);
  if (second == std::string_view::npos) {
    return std::unexpected(corrupt_value(kWhat, text));
  }
  OffsetKey key;
  key.topic = text.substr(0, first);
  key.group = text.substr(first + 1, second - first - 1);
  const std::string_view digits = text.substr(second + 1);
  std::uint32_t partition = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), partition);
  key.partition = PartitionIndex(partition);
  // The last test also refuses what reads as a number but is not how we write it ("007", "+7").
  if (error != std::errc() || end != digits.data() + digits.size() || text_of(key) != text) {
    return std::unexpected(corrupt_value(kWhat, text));
  }
  return key;
}

Result<void> check(const OffsetKey& key, const OffsetValue& value) {
  if (const Result<void> fine = check_key_part("topic", key.topic); !fine) {
    return fine;
  }
  if (const Result<void> fine = check_key_part("group", key.group); !fine) {
    return fine;
  }
  if (value.frontier.value() < -1) {
    return fail(ErrorCode::kBadValue,
                fmt::format("frontier {} lies below -1", value.frontier.value()));
  }
  return {};
}

std::string encode(std::string_view key, const OffsetValue& value) {
  std::string fields;
  ByteWriter writer(fields);
  writer.u64(value.incarnation.value());
  writer.u32(value.progress.value());
  writer.u32(value.generation.value());
  writer.u64(static_cast<std::uint64_t>(value.frontier.value()));
  return seal(kVersion, key, fields);
}

Result<OffsetValue> decode(std::string_view key, std::string_view bytes) {
  const bool older = !bytes.empty() && bytes.front() == char{kWithoutProgress};
  const std::uint8_t version = older ? kWithoutProgress : kVersion;
  const Result<std::string_view> fields = unseal(kWhat, version, key, bytes);
  if (!fields) {
    return fail(fields);
  }
  ByteReader in(as_bytes(*fields));
  OffsetValue value;
  value.incarnation = Incarnation(in.u64());
  if (!older) {
    value.progress = ProgressNumber(in.u32());
  }
  value.generation = Generation(in.u32());
  value.frontier = Offset(static_cast<std::int64_t>(in.u64()));
  if (!in.ok() || !in.empty() || value.frontier.value() < -1) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  return value;
}

class KvOffsetStore final : public OffsetStore {
 public:
  KvOffsetStore(io::KeyValue& kv, const KvOffsetStoreOptions& options)
      : kv_(kv), name_(fmt::format("offsets ({})", options.backend_name)) {}

  std::string_view name() const override { return name_; }
  StoreHealth health() const override {
    const std::scoped_lock lock(mutex_);
    return health_;
  }
  Result<void> flush() override {
    const std::scoped_lock lock(mutex_);
    return note(flush_locked());
  }
  Result<void> close() override {
    const std::scoped_lock lock(mutex_);
    if (closed_) {
      return {};
    }
    const Result<void> flushed = note(flush_locked());
    closed_ = flushed.has_value();
    return flushed;
  }

  Result<std::optional<OffsetValue>> read_offset(const OffsetKey& key) override {
    if (const Result<void> fine = check(key, {}); !fine) {
      return fail(fine);
    }
    const std::scoped_lock lock(mutex_);
    return note(read_locked(text_of(key)));
  }

  Result<bool> write_offset(const OffsetKey& key, OffsetValue value) override {
    const OffsetRecord record{key, value};
    const Result<std::size_t> moved = write_offsets({&record, 1});
    return moved ? Result<bool>(*moved > 0) : fail(moved);
  }

  Result<std::size_t> write_offsets(std::span<const OffsetRecord> records) override {
    std::map<std::string, OffsetValue> highest;
    for (const OffsetRecord& record : records) {
      if (const Result<void> fine = check(record.key, record.value); !fine) {
        return fail(fine);
      }
      const auto [at, fresh] = highest.try_emplace(text_of(record.key), record.value);
      at->second = std::max(at->second, record.value);
    }
    const std::scoped_lock lock(mutex_);
    return note(write_locked(highest));
  }

  Result<std::vector<OffsetRecord>> read_all_offsets(std::string_view topic) override;
  Result<std::vector<std::string>> read_all_topics() override;
  Result<std::size_t> forget(std::string_view topic, std::string_view group) override;

 private:
  // The rest runs under the lock.
  [[nodiscard]] Result<void> require_open() const {
    return closed_ ? fail(ErrorCode::kUnavailable, "the offset store is closed") : Result<void>();
  }
  [[nodiscard]] Result<void> flush_locked() {
    const Result<void> open = require_open();
    return open ? kv_.flush() : open;
  }
  [[nodiscard]] Result<std::optional<OffsetValue>> read_locked(const std::string& key) const;
  [[nodiscard]] Result<std::size_t> write_locked(const std::map<std::string, OffsetValue>& highest);
  [[nodiscard]] Result<std::vector<OffsetRecord>> scan_locked(std::string_view prefix) const;
  // Keeps the outcome for `health`.
  template <class T>
  Result<T> note(Result<T> result) {
    health_ = result ? StoreHealth{} : StoreHealth{false, result.error().detail};
    return result;
  }

  io::KeyValue& kv_;
  const std::string name_;
  mutable std::mutex mutex_;
  StoreHealth health_;
  bool closed_ = false;
};

Result<std::optional<OffsetValue>> KvOffsetStore::read_locked(const std::string& key) const {
  if (const Result<void> open = require_open(); !open) {
    return fail(open);
  }
  const Result<std::optional<std::string>> stored = kv_.get(key);
  if (!stored) {
    return fail(stored);
  }
  if (!*stored) {
    return std::optional<OffsetValue>();
  }
  const Result<OffsetValue> value = decode(key, **stored);
  return value ? Result<std::optional<OffsetValue>>(*value) : fail(value);
}

Result<std::size_t> KvOffsetStore::write_locked(const std::map<std::string, OffsetValue>& highest) {
  std::vector<io::KeyValueWrite> batch;
  for (const auto& [key, value] : highest) {
    const Result<std::optional<OffsetValue>> now = read_locked(key);
    if (!now) {
      return fail(now);
    }
    if (!*now || **now < value) {
      batch.push_back({key, encode(key, value)});
    }
  }
  if (batch.empty()) {
    const Result<void> open = require_open();
    return open ? Result<std::size_t>(0) : fail(open);
  }
  io::failpoint(io::Failpoint::kOffsetsBatchBefore);
  const Result<void> written = kv_.write(batch, false);
  io::failpoint(io::Failpoint::kOffsetsBatchAfter);
  return written ? Result<std::size_t>(batch.size()) : fail(written);
}

Result<std::vector<OffsetRecord>> KvOffsetStore::scan_locked(std::string_view prefix) const {
  if (const Result<void> open = require_open(); !open) {
    return fail(open);
  }
  std::vector<OffsetRecord> out;
  Result<void> fine;
  const Result<void> scanned =
      kv_.scan(prefix, {}, [&](std::string_view text, std::string_view bytes) {
        const Result<OffsetKey> key = parse_key(text);
        const Result<OffsetValue> value =
            key ? decode(text, bytes) : Result<OffsetValue>(fail(key));
        if (!value) {
          fine = fail(value);
          return false;
        }
        out.push_back({*key, *value});
        return true;
      });
  if (!scanned || !fine) {
    return fail(!scanned ? scanned : fine);
  }
  std::ranges::sort(out, {}, &OffsetRecord::key);
  return out;
}

Result<std::vector<OffsetRecord>> KvOffsetStore::read_all_offsets(std::string_view topic) {
  std::string prefix;
  if (!topic.empty()) {
    if (const Result<void> fine = check_key_part("topic", topic); !fine) {
      return fail(fine);
    }
    prefix = fmt::format("{}#", topic);
  }
  const std::scoped_lock lock(mutex_);
  return note(scan_locked(prefix));
}

Result<std::vector<std::string>> KvOffsetStore::read_all_topics() {
  const std::scoped_lock lock(mutex_);
  const Result<std::vector<OffsetRecord>> all = note(scan_locked({}));
  if (!all) {
    return fail(all);
  }
  std::vector<std::string> topics;
  for (const OffsetRecord& record : *all) {
    if (topics.empty() || topics.back() != record.key.topic) {
      topics.push_back(record.key.topic);
    }
  }
  return topics;
}

Result<std::size_t> KvOffsetStore::forget(std::string_view topic, std::string_view group) {
  if (const Result<void> fine = check_key_part("topic", topic); !fine) {
    return fail(fine);
  }
  if (!group.empty()) {
    if (const Result<void> fine = check_key_part("group", group); !fine) {
      return fail(fine);
    }
  }
  const std::string prefix =
      group.empty() ? fmt::format("{}#", topic) : fmt::format("{}#{}#", topic, group);
  const std::scoped_lock lock(mutex_);
  const Result<std::vector<OffsetRecord>> found = note(scan_locked(prefix));
  if (!found) {
    return fail(found);
  }
  std::vector<io::KeyValueWrite> batch;
  for (const OffsetRecord& record : *found) {
    batch.push_back({text_of(record.key), std::nullopt});
  }
  if (batch.empty()) {
    return 0;
  }
  // Synced: values that came back after a power cut would be taken for a later group's of that
  // name.
  const Result<void> written = note(kv_.write(batch, true));
  return written ? Result<std::size_t>(batch.size()) : fail(written);
}

}  // namespace

Result<std::unique_ptr<OffsetStore>> open_kv_offset_store(io::KeyValue& kv,
                                                          const KvOffsetStoreOptions& options) {
  auto store = std::make_unique<KvOffsetStore>(kv, options);
  if (const auto all = store->read_all_offsets({}); !all) {
    return fail(all);
  }
  return store;
}

}  // namespace ackline::state
