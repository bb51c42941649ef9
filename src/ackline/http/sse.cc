#include "ackline/http/sse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace ackline::http {
namespace {

// One `data: ` line for each line of `data`, then the empty line that ends the event.
void append_data(std::string& out, std::string_view data) {
  for (;;) {
    const std::size_t end = data.find_first_of("\r\n");
    out.append("data: ").append(data.substr(0, end)).push_back('\n');
    if (end == std::string_view::npos) {
      break;
    }
    data.remove_prefix(data.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  out.push_back('\n');
}

void append_one_line(std::string& out, std::string_view text) {
  std::copy_if(text.begin(), text.end(), std::back_inserter(out),
               [](char c) { return c != '\r' && c != '\n' && c != '\0'; });
}

}  // namespace

Response sse_head() {
  Response head;
  head.headers.add("content-type", "text/event-stream");
  head.headers.add("cache-control", "no-store");
  head.headers.add("x-accel-buffering", "no");
  return head;
}

void append_sse_retry(std::string& out, std::int64_t retry_ms) {
  fmt::format_to(std::back_inserter(out), "retry: {}\n\n", retry_ms);
}

void append_sse_id(std::string& out, std::string_view id) {
  if (!id.empty()) {
    out.append("id: ");
    append_one_line(out, id);
    out.push_back('\n');
  }
}

void append_sse_event(std::string& out, std::string_view id, std::string_view data) {
  append_sse_id(out, id);
  append_data(out, data);
}

void append_sse_named(std::string& out, std::string_view name, std::string_view data) {
  out.append("event: ");
  append_one_line(out, name);
  out.push_back('\n');
  append_data(out, data);
}

void append_sse_comment(std::string& out, std::string_view text) {
  out.append(": ");
  append_one_line(out, text);
  out.append("\n\n");
}

void append_sse_end(std::string& out, std::string_view word) {
  append_sse_named(out, "end", fmt::format(R"({{"error":"{}"}})", word));
}

Result<void> SseReader::feed(std::string_view bytes, const std::function<void(SseEvent)>& sink) {
  while (!bytes.empty()) {
    if (after_cr_) {  // CRLF is one end of line, also when it comes in two pieces
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (partial_.size() + data_.size() + piece.size() > max_event_bytes_) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("an event of the stream is over {} bytes", max_event_bytes_));
    }
    if (end == std::string_view::npos) {
      partial_.append(piece);
      return {};
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (partial_.empty()) {
      line(piece, sink);
      continue;
    }
    partial_.append(piece);
    const std::string whole = std::move(partial_);
    partial_.clear();
    line(whole, sink);
  }
  return {};
}

void SseReader::line(std::string_view text, const std::function<void(SseEvent)>& sink) {
  if (at_start_) {
    at_start_ = false;
    if (text.starts_with("\xEF\xBB\xBF")) {
      text.remove_prefix(3);
    }
  }
  if (text.empty()) {
    if (has_data_) {
      SseEvent event;
      event.id = last_id_;
      event.data = std::move(data_);
      if (!name_.empty()) {
        event.name = std::move(name_);
      }
      sink(std::move(event));
    }
    data_.clear();
    name_.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = text.find(':');
  if (colon == 0) {
    ++comments_;
    return;
  }
  const std::string_view field = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (value.starts_with(' ')) {
    value.remove_prefix(1);
  }
  if (field == "data") {
    if (has_data_) {
      data_.push_back('\n');
    }
    data_.append(value);
    has_data_ = true;
  } else if (field == "event") {
    name_ = value;
  } else if (field == "id") {
    if (value.find('\0') == std::string_view::npos) {
      last_id_ = value;
    }
  } else if (field == "retry") {
    std::int64_t ms = 0;
    const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
    if (error == std::errc() && rest == value.data() + value.size() && ms >= 0) {
      retry_ms_ = ms;
    }
  }
}

}  // namespace ackline::http
