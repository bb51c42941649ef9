#include "ackline/cli/load/http_answers.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace ackline::cli::load {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(), [](char want, char got) {
           return want == (got >= 'A' && got <= 'Z' ? static_cast<char>(got + 32) : got);
         });
}

template <class Number>
std::optional<Number> number(std::string_view text, int base = 10) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// The value of a header line of `head`, which ends with a line's end.
std::optional<std::string_view> header(std::string_view head, std::string_view lower_name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2);
    if (starts_with_ignoring_case(line, lower_name)) {
      return line.substr(lower_name.size(), line.find("\r\n") - lower_name.size());
    }
  }
  return std::nullopt;
}

int status_of(std::string_view head) {
  return head.size() < 12 ? 0 : number<int>(head.substr(9, 3)).value_or(0);
}

}  // namespace

std::size_t HttpAnswers::take(std::string_view bytes) {
  std::size_t at = 0;
  while (problem_.empty()) {
    const std::string_view rest = bytes.substr(at);
    const std::size_t end = rest.find(kHeadEnd);
    if (end == std::string_view::npos) break;
    const std::string_view head = rest.substr(0, end + 2);
    const auto value = header(head, "content-length:");
    const auto length = value ? number<std::size_t>(*value) : std::nullopt;
    if (!length) {
      problem_ = "an answer without content-length";
      break;
    }
    if (rest.size() < end + kHeadEnd.size() + *length) break;
    at += end + kHeadEnd.size() + *length;
    on_answer_(status_of(head), rest.substr(end + kHeadEnd.size(), *length));
  }
  return at;
}

std::size_t HttpStream::take_head(std::string_view bytes) {
  const std::size_t end = bytes.find(kHeadEnd);
  if (end == std::string_view::npos) return 0;
  const std::string_view head = bytes.substr(0, end + 2);
  if (status_of(head) != 200 || !header(head, "transfer-encoding:")) {
    problem_ = "no event stream: " + std::string(bytes.substr(0, 300));
    return 0;
  }
  open_ = true;
  return end + kHeadEnd.size();
}

std::size_t HttpStream::take(std::string_view bytes) {
  std::size_t at = 0;
  if (!open_) {
    at = take_head(bytes);
    if (!open_) return 0;
  }
  while (problem_.empty()) {
    const std::string_view rest = bytes.substr(at);
    const std::size_t line = rest.find("\r\n");
    if (line == std::string_view::npos) break;
    const auto length = number<std::size_t>(rest.substr(0, line), 16);
    if (!length || *length == 0) {
      problem_ = "the server ended the stream";
      break;
    }
    if (rest.size() < line + 2 + *length + 2) break;
    at += line + 2 + *length + 2;
    take_text(rest.substr(line + 2, *length));
  }
  return at;
}

void HttpStream::take_text(std::string_view chunk) {
  if (!partial_.empty()) {
    partial_.append(chunk);
    chunk = partial_;
  }
  std::size_t at = 0;
  for (std::size_t end = chunk.find("\n\n"); end != std::string_view::npos;
       end = chunk.find("\n\n", at)) {
    event(chunk.substr(at, end - at));
    at = end + 2;
  }
  partial_ = std::string(chunk.substr(at));
}

void HttpStream::event(std::string_view text) {
  constexpr std::string_view kId = "id: ";
  constexpr std::string_view kData = "\ndata: ";
  if (text.starts_with("event: end")) {
    problem_ = "the server ended the stream: " + std::string(text);
    return;
  }
  if (!text.starts_with(kId)) return;  // the reconnection time, or a sign of life
  const std::size_t data = text.find(kData);
  if (data == std::string_view::npos) return;
  on_event_(text.substr(kId.size(), data - kId.size()), text.substr(data + kData.size()));
}

}  // namespace ackline::cli::load
