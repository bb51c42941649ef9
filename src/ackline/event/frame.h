// EventMeshFrame, version 2: a CloudEvent as the body of a log record, and on binary channels.
//
// Format: docs/formats/frame.md. Writing appends to a string and cannot fail for an event that
// `check_event` accepts. Reading is hard against any bytes and answers `corrupt`:
// - `FrameView::open` checks the structure (lengths, types, names) and allocates nothing; it is for
//   the bytes of our own log, which have their checksum.
// - `decode_frame` checks all of it, the JSON of the data too, and drops internal attributes; it is
//   for bytes from elsewhere.
// Pure functions, any thread; a view lives as long as its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ackline/base/bytes.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/event/cloud_event.h"

namespace ackline::event {

inline constexpr std::size_t kFrameHeaderBytes = 14;
inline constexpr std::uint8_t kFrameMagic = 0xEF;
inline constexpr std::uint8_t kFrameVersion = 2;
inline constexpr std::uint8_t kFrameTypeEvent = 3;

class FrameView {
 public:
  // Walks the keys of a frame that was opened.
  class Iterator {
   public:
    using value_type = AttributeView;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const char* at, std::uint32_t left) : at_(at), left_(left) {}
    [[nodiscard]] AttributeView operator*() const;
    Iterator& operator++();
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.left_ == b.left_; }

   private:
    const char* at_ = nullptr;
    std::uint32_t left_ = 0;
  };

  // An empty view: no attributes, no data.
  FrameView() = default;
  // All of `bytes` must be one frame.
  [[nodiscard]] static Result<FrameView> open(std::string_view bytes);
  [[nodiscard]] static Result<FrameView> open(ByteView bytes) { return open(as_text(bytes)); }
  // The same but for the letters of names, which were checked when the frame was made and have the
  // log's checksum since: for what looks at every event it offers.
  [[nodiscard]] static Result<FrameView> open_stored(ByteView bytes);

  [[nodiscard]] Iterator begin() const { return {keys_.data(), key_count_}; }
  [[nodiscard]] Iterator end() const { return {}; }
  [[nodiscard]] std::uint32_t attribute_count() const { return key_count_; }
  [[nodiscard]] std::optional<AttributeView> find(std::string_view name) const;
  // The text form; empty when the attribute is missing. `specversion` is "1.0".
  [[nodiscard]] std::string_view get(std::string_view name) const;
  // `time` in milliseconds; nothing when it is missing or not a timestamp.
  [[nodiscard]] std::optional<WallMs> time() const;

  [[nodiscard]] DataKind data_kind() const { return data_kind_; }
  [[nodiscard]] std::string_view data() const { return data_; }
  // The keys as they are in the frame, for a copy.
  [[nodiscard]] std::string_view key_bytes() const { return keys_; }

 private:
  [[nodiscard]] static Result<FrameView> open(std::string_view bytes, bool names);
  std::string_view keys_;
  std::string_view data_;
  std::uint32_t key_count_ = 0;
  DataKind data_kind_ = DataKind::kNone;
};

void append_frame(const CloudEvent& event, std::string& out);
[[nodiscard]] Result<CloudEvent> decode_frame(std::string_view bytes);

// Appends a copy of the frame with `extensions` added, each replacing one of its name; for a dead
// letter. The data and all other attributes stay byte for byte.
void append_frame_with(const FrameView& frame, std::span<const Attribute> extensions,
                       std::string& out);
[[nodiscard]] std::string with_extensions(const FrameView& frame,
                                          std::span<const Attribute> extensions);

struct JsonOptions {
  // Leave out the extensions of a dead letter: a redriven delivery has none.
  bool drop_dlq = false;
  // Leave out what this says yes to, too; may be null.
  bool (*skip)(std::string_view name) = nullptr;
};

// Appends the event as one JSON object on one line, ready for an SSE `data:` line. Internal
// attributes never leave. The hot path of every delivery.
void append_json(const FrameView& frame, std::string& out, const JsonOptions& options = {});

}  // namespace ackline::event
