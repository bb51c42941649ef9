#include "ackline/event/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ackline/base/check.h"
#include "ackline/base/time_text.h"

namespace ackline::event {
namespace {

constexpr unsigned kKindShift = 4;
constexpr std::uint8_t kKindMask = 0x30;
// A key without name and value: nameLen, type, valLen.
constexpr std::size_t kKeyOverhead = 2 + 1 + 4;

// Network order, as the frame has always had it.
std::uint32_t load16(const char* at) {
  return static_cast<std::uint32_t>(static_cast<unsigned char>(at[0])) << 8U |
         static_cast<unsigned char>(at[1]);
}
std::uint32_t load32(const char* at) {
  return load16(at) << 16U | load16(at + 2);
}

void store16(std::string& out, std::size_t value) {
  const char bytes[2] = {static_cast<char>(value >> 8U), static_cast<char>(value)};
  out.append(bytes, sizeof(bytes));
}
void store32(std::string& out, std::size_t value) {
  const char bytes[4] = {static_cast<char>(value >> 24U), static_cast<char>(value >> 16U),
                         static_cast<char>(value >> 8U), static_cast<char>(value)};
  out.append(bytes, sizeof(bytes));
}

std::unexpected<Error> corrupt(std::string detail) {
  return fail(ErrorCode::kCorrupt, "event frame: " + std::move(detail));
}

void append_header(std::string& out, DataKind kind, std::size_t keys, std::size_t data_bytes) {
  ACKLINE_CHECK(keys <= 0xFFFF && data_bytes <= 0xFFFFFFFF);
  out.push_back(static_cast<char>(kFrameMagic));
  out.push_back(static_cast<char>(kFrameVersion));
  out.push_back(static_cast<char>(kFrameTypeEvent));
  out.push_back(static_cast<char>(static_cast<unsigned>(kind) << kKindShift));
  store32(out, 0);
  store16(out, keys);
  store32(out, data_bytes);
}

std::size_t key_size(AttributeView key) {
  return kKeyOverhead + key.name.size() + key.value.size();
}

void append_key(std::string& out, AttributeView key) {
  ACKLINE_CHECK(key.name.size() <= kMaxAttributeName && key.value.size() <= 0xFFFFFFFF);
  store16(out, key.name.size());
  out.append(key.name);
  out.push_back(static_cast<char>(key.type));
  store32(out, key.value.size());
  out.append(key.value);
}

AttributeView key_at(const char* at) {
  const std::size_t name_bytes = load16(at);
  const char* const after = at + 2 + name_bytes;
  const auto type = static_cast<AttributeType>(static_cast<unsigned char>(*after));
  return {{at + 2, name_bytes}, type, {after + 5, load32(after + 1)}};
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxAttributeName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

// Checks the key at the front of `rest` and steps over it.
Result<void> skip_key(std::string_view& rest, bool names) {
  if (rest.size() < kKeyOverhead) {
    return corrupt("it ends within a key");
  }
  const std::size_t name_bytes = load16(rest.data());
  if (rest.size() - kKeyOverhead < name_bytes) {
    return corrupt(fmt::format("a name of {} bytes goes past the end", name_bytes));
  }
  if (names && !is_name(rest.substr(2, name_bytes))) {
    return corrupt("a name has other characters than a-z and 0-9");
  }
  const auto type = static_cast<unsigned char>(rest[2 + name_bytes]);
  if (type > kLastAttributeType) {
    return corrupt(fmt::format("a key has the unknown type {}", type));
  }
  const std::size_t value_bytes = load32(rest.data() + 3 + name_bytes);
  if (rest.size() - kKeyOverhead - name_bytes < value_bytes) {
    return corrupt(fmt::format("a value of {} bytes goes past the end", value_bytes));
  }
  rest.remove_prefix(kKeyOverhead + name_bytes + value_bytes);
  return {};
}

Result<void> check_header(std::string_view bytes) {
  if (bytes.size() < kFrameHeaderBytes) {
    return corrupt(fmt::format("it has {} bytes, fewer than its header", bytes.size()));
  }
  const auto byte = [bytes](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  if (byte(0) != kFrameMagic) {
    return corrupt(fmt::format("it starts with {:#04x}, not {:#04x}", byte(0), kFrameMagic));
  }
  if (byte(1) != kFrameVersion) {
    return corrupt(fmt::format("it has version {}; only {} is read here", byte(1), kFrameVersion));
  }
  if (byte(2) != kFrameTypeEvent) {
    return corrupt(fmt::format("it has message type {}, not that of an event", byte(2)));
  }
  if ((byte(3) & ~static_cast<unsigned>(kKindMask)) != 0 || load32(bytes.data() + 4) != 0) {
    return corrupt("reserved bits are set");
  }
  return {};
}

}  // namespace

AttributeView FrameView::Iterator::operator*() const {
  return key_at(at_);
}

FrameView::Iterator& FrameView::Iterator::operator++() {
  at_ += key_size(key_at(at_));
  --left_;
  return *this;
}

Result<FrameView> FrameView::open(std::string_view bytes) {
  return open(bytes, true);
}

Result<FrameView> FrameView::open_stored(ByteView bytes) {
  return open(as_text(bytes), false);
}

Result<FrameView> FrameView::open(std::string_view bytes, bool names) {
  if (auto header = check_header(bytes); !header) {
    return fail(header);
  }
  FrameView view;
  view.data_kind_ = static_cast<DataKind>(
      (static_cast<unsigned char>(bytes[3]) & static_cast<unsigned>(kKindMask)) >> kKindShift);
  view.key_count_ = load16(bytes.data() + 8);
  const std::size_t data_bytes = load32(bytes.data() + 10);
  std::string_view rest = bytes.substr(kFrameHeaderBytes);
  if (rest.size() < data_bytes) {
    return corrupt(fmt::format("data of {} bytes goes past the end", data_bytes));
  }
  view.data_ = rest.substr(rest.size() - data_bytes);
  rest.remove_suffix(data_bytes);
  view.keys_ = rest;
  for (std::uint32_t i = 0; i < view.key_count_; ++i) {
    if (auto skipped = skip_key(rest, names); !skipped) {
      return fail(skipped);
    }
  }
  if (!rest.empty()) {
    return corrupt(fmt::format("{} bytes stand between the keys and the data", rest.size()));
  }
  if (view.data_kind_ == DataKind::kNone && !view.data_.empty()) {
    return corrupt("it has data but no kind of data");
  }
  return view;
}

std::optional<AttributeView> FrameView::find(std::string_view name) const {
  for (const AttributeView key : *this) {
    if (key.name == name) {
      return key;
    }
  }
  return std::nullopt;
}

std::string_view FrameView::get(std::string_view name) const {
  if (name == "specversion") {
    return kSpecVersion;
  }
  const auto key = find(name);
  return key ? key->value : std::string_view();
}

std::optional<WallMs> FrameView::time() const {
  return parse_rfc3339(get("time"));
}

void append_frame(const CloudEvent& event, std::string& out) {
  std::size_t size_bytes = kFrameHeaderBytes + event.data().size();
  for (const Attribute& attribute : event.attributes()) {
    size_bytes += key_size(attribute.view());
  }
  // Not reserve(): a caller that appends many frames keeps its doubling.
  if (out.capacity() - out.size() < size_bytes) {
    out.reserve(std::max(out.size() + size_bytes, out.capacity() * 2));
  }
  append_header(out, event.data_kind(), event.attributes().size(), event.data().size());
  for (const Attribute& attribute : event.attributes()) {
    append_key(out, attribute.view());
  }
  out.append(event.data());
}

Result<CloudEvent> decode_frame(std::string_view bytes) {
  const auto view = FrameView::open(bytes);
  if (!view) {
    return fail(view);
  }
  CloudEvent event;
  std::size_t counted = 0;
  for (const AttributeView key : *view) {
    counted += is_dlq_attribute(key.name) ? 0 : 1;
    if (counted > kMaxAttributes) {
      return corrupt(fmt::format("it has more than {} attributes", kMaxAttributes));
    }
    if (is_internal_attribute(key.name)) {
      continue;
    }
    if (event.find(key.name) != nullptr || key.name == "specversion") {
      return corrupt(fmt::format("the key {} may not stand here, or not again", key.name));
    }
    event.set(key.name, key.type, std::string(key.value));
  }
  event.set_data(view->data_kind(), std::string(view->data()));
  if (auto checked = check_event(event); !checked) {
    return corrupt(checked.error().detail);
  }
  return event;
}

void append_frame_with(const FrameView& frame, std::span<const Attribute> extensions,
                       std::string& out) {
  std::vector<AttributeView> keys;
  keys.reserve(frame.attribute_count() + extensions.size());
  for (const AttributeView key : frame) {
    if (std::ranges::find(extensions, key.name, &Attribute::name) == extensions.end()) {
      keys.push_back(key);
    }
  }
  for (const Attribute& extension : extensions) {
    keys.push_back(extension.view());
  }
  append_header(out, frame.data_kind(), keys.size(), frame.data().size());
  for (const AttributeView& key : keys) {
    append_key(out, key);
  }
  out.append(frame.data());
}

std::string with_extensions(const FrameView& frame, std::span<const Attribute> extensions) {
  std::string out;
  append_frame_with(frame, extensions, out);
  return out;
}

}  // namespace ackline::event
