// Server-sent events (WHATWG HTML, "Server-sent events"): the writer and the reader.
//
// The writer appends text to a string; the reader takes bytes as they come. No I/O.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ackline/base/result.h"
#include "ackline/http/message.h"

namespace ackline::http {

// The head of an event stream: 200, text/event-stream, no caching, no proxy buffering.
[[nodiscard]] Response sse_head();

// "retry: 2000\n\n"
void append_sse_retry(std::string& out, std::int64_t retry_ms);
// "id: …\ndata: …\n\n"; data of several lines becomes several data lines. Newlines in `id` are
// dropped; an empty id writes no id line.
void append_sse_event(std::string& out, std::string_view id, std::string_view data);
// The id line alone.
void append_sse_id(std::string& out, std::string_view id);
// The same for one line of data that `append` writes to the end of `out`: nothing is copied.
template <std::invocable<std::string&> Append>
void append_sse_event(std::string& out, std::string_view id, Append&& append) {
  append_sse_id(out, id);
  out.append("data: ");
  std::forward<Append>(append)(out);
  out.append("\n\n");
}
// "event: <name>\ndata: …\n\n"
void append_sse_named(std::string& out, std::string_view name, std::string_view data);
// ": hb\n\n"
void append_sse_comment(std::string& out, std::string_view text = "hb");
// The server's last word: event "end" with {"error":"<word>"}.
void append_sse_end(std::string& out, std::string_view word);

struct SseEvent {
  std::string id;  // the last id seen, as the standard has it
  std::string name = "message";
  std::string data;
};

class SseReader {
 public:
  // `max_event_bytes` bounds one event; more is kTooLarge.
  explicit SseReader(std::size_t max_event_bytes = std::size_t{32} << 20U)
      : max_event_bytes_(max_event_bytes) {}
  // Calls `sink` with each event that is complete. After an error the reader is of no use.
  [[nodiscard]] Result<void> feed(std::string_view bytes,
                                  const std::function<void(SseEvent)>& sink);
  [[nodiscard]] std::optional<std::int64_t> retry_ms() const { return retry_ms_; }
  [[nodiscard]] std::uint64_t comments() const { return comments_; }

 private:
  void line(std::string_view text, const std::function<void(SseEvent)>& sink);
  std::size_t max_event_bytes_;
  std::string partial_;
  std::string data_;
  std::string name_;
  std::string last_id_;
  std::optional<std::int64_t> retry_ms_;
  std::uint64_t comments_ = 0;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool at_start_ = true;
};

}  // namespace ackline::http
