#include "ackline/http/message.h"

#include <algorithm>
#include <array>

#include "ackline/base/ascii.h"
#include "ackline/base/percent.h"

namespace ackline::http {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};

constexpr std::array kPhrases = {
    // in order
    Phrase{100, "Continue"},
    Phrase{101, "Switching Protocols"},
    Phrase{200, "OK"},
    Phrase{201, "Created"},
    Phrase{202, "Accepted"},
    Phrase{204, "No Content"},
    Phrase{206, "Partial Content"},
    Phrase{301, "Moved Permanently"},
    Phrase{302, "Found"},
    Phrase{304, "Not Modified"},
    Phrase{307, "Temporary Redirect"},
    Phrase{308, "Permanent Redirect"},
    Phrase{400, "Bad Request"},
    Phrase{401, "Unauthorized"},
    Phrase{403, "Forbidden"},
    Phrase{404, "Not Found"},
    Phrase{405, "Method Not Allowed"},
    Phrase{408, "Request Timeout"},
    Phrase{409, "Conflict"},
    Phrase{410, "Gone"},
    Phrase{413, "Content Too Large"},
    Phrase{415, "Unsupported Media Type"},
    Phrase{429, "Too Many Requests"},
    Phrase{431, "Request Header Fields Too Large"},
    Phrase{500, "Internal Server Error"},
    Phrase{501, "Not Implemented"},
    Phrase{502, "Bad Gateway"},
    Phrase{503, "Service Unavailable"},
    Phrase{504, "Gateway Timeout"},
    Phrase{507, "Insufficient Storage"},
};

Result<std::vector<QueryParameter>> parse_query(std::string_view text) {
  std::vector<QueryParameter> query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) {
      continue;
    }
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(pair.substr(0, equals), true);
    if (!name) {
      return fail(name);
    }
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!value) {
      return fail(value);
    }
    query.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

// Takes "http://host" off the front of an absolute-form target.
Result<std::string> take_authority(std::string_view& target) {
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos ||
      !(same_ignoring_case(target.substr(0, scheme), "http") ||
        same_ignoring_case(target.substr(0, scheme), "https"))) {
    return fail(ErrorCode::kBadRequest, "the request target is neither a path nor an http URL",
                "Begin it with '/'.");
  }
  target.remove_prefix(scheme + 3);
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  const std::string_view authority = target.substr(0, end);
  target.remove_prefix(end);
  if (authority.empty() || authority.find('@') != std::string_view::npos) {
    return fail(ErrorCode::kBadRequest, "the request target names no host, or a user",
                "Send the path alone.");
  }
  return std::string(authority);
}

}  // namespace

Headers::Headers(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  for (const auto& [name, value] : fields) {
    add(name, value);
  }
}

void Headers::add(std::string_view name, std::string_view value) {
  fields_.push_back({static_cast<std::uint32_t>(text_.size()),
                     static_cast<std::uint32_t>(name.size()),
                     static_cast<std::uint32_t>(value.size())});
  const std::size_t at = text_.size();
  text_.resize(at + name.size() + value.size());
  name.copy(text_.data() + at, name.size());
  value.copy(text_.data() + at + name.size(), value.size());
}

std::optional<std::string_view> Headers::find(std::string_view wanted) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (same_ignoring_case(name(i), wanted)) {
      return value(i);
    }
  }
  return std::nullopt;
}

std::size_t Headers::count(std::string_view wanted) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    found += same_ignoring_case(name(i), wanted) ? 1 : 0;
  }
  return found;
}

std::string_view Headers::name(std::size_t index) const {
  const Field& field = fields_[index];
  return std::string_view(text_).substr(field.at, field.name_size);
}

std::string_view Headers::value(std::size_t index) const {
  const Field& field = fields_[index];
  return std::string_view(text_).substr(field.at + field.name_size, field.value_size);
}

void Headers::reserve(std::size_t fields, std::size_t bytes) {
  fields_.reserve(fields);
  text_.reserve(bytes);
}

std::optional<std::string_view> Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) {
      return value;
    }
  }
  return std::nullopt;
}

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers.add("content-type", "application/json");
  response.body = std::move(body);
  return response;
}

std::string_view reason_phrase(int status) {
  const auto* found = std::ranges::lower_bound(kPhrases, status, {}, &Phrase::status);
  return found == kPhrases.end() || found->status != status ? "Unknown" : found->text;
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  auto out = percent_decoded(text, plus_is_space);
  if (!out) {
    return fail(ErrorCode::kBadRequest,
                "the request target has a '%' that two hexadecimal digits do not follow",
                "Write a literal '%' as %25.");
  }
  if (out->size() < text.size() && out->find('\0') != std::string::npos) {
    return fail(ErrorCode::kBadRequest, "the request target has an escaped NUL", "Leave %00 out.");
  }
  return std::move(*out);
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const char l = ascii_lower(c);
    if ((l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
        c == '~') {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHex[byte >> 4U]);
    out.push_back(kHex[byte & 15U]);
  }
  return out;
}

Result<Target> parse_target(std::string_view target) {
  Target out;
  if (target == "*") {
    out.path = "*";
    return out;
  }
  if (target.find('#') != std::string_view::npos) {
    return fail(ErrorCode::kBadRequest, "the request target has a fragment",
                "Leave out what follows the '#'.");
  }
  if (target.empty() || target.front() != '/') {
    auto host = take_authority(target);
    if (!host) {
      return fail(host);
    }
    out.host = std::move(*host);
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  auto path = percent_decode(target.substr(0, question));
  if (!path) {
    return fail(path);
  }
  out.path = path->empty() ? "/" : std::move(*path);
  if (question < target.size()) {
    auto query = parse_query(target.substr(question + 1));
    if (!query) {
      return fail(query);
    }
    out.query = std::move(*query);
  }
  return out;
}

}  // namespace ackline::http
