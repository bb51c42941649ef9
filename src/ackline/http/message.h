// Requests and responses as values: what the parser makes and what the handlers answer.
//
// Plain data, owned by whoever holds it, no thread of its own. Everything in a Request came from a
// stranger: sizes are bounded by `Limits`, the target is percent-decoded, nothing else is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackline/base/result.h"

namespace ackline::http {

// Header fields in the order they came. All text is in one string: a request costs two allocations
// here, however many fields it has.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);
  void add(std::string_view name, std::string_view value);
  // Value of the first field of this name, whatever the case of either.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  // How many fields have this name.
  [[nodiscard]] std::size_t count(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] bool empty() const { return fields_.empty(); }
  [[nodiscard]] std::string_view name(std::size_t index) const;
  [[nodiscard]] std::string_view value(std::size_t index) const;
  void reserve(std::size_t fields, std::size_t bytes);

 private:
  struct Field {
    std::uint32_t at;
    std::uint32_t name_size;
    std::uint32_t value_size;
  };
  std::string text_;
  std::vector<Field> fields_;
};

using QueryParameter = std::pair<std::string, std::string>;

// Which listener a request came in by: the admin routes exist on one of them only.
enum class ListenerKind : std::uint8_t { kTraffic, kAdmin };

struct Request {
  std::string method = {};  // as sent: "GET", "POST", … or anything else that is a token
  std::string target = {};  // as sent
  std::string path = {};    // decoded, begins with '/', or is "*"
  std::vector<QueryParameter> query = {};  // decoded, in order, with repetitions
  Headers headers = {};
  std::string body = {};
  std::string remote = {};  // "address:port" of the peer
  ListenerKind listener = ListenerKind::kTraffic;
  bool http_1_0 = false;
  bool keep_alive = true;

  // Value of the first header of this name.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const {
    return headers.find(name);
  }
  // Value of the first query parameter of this name.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  Headers
      headers;  // without content-length, transfer-encoding and connection: the writer adds them
  std::string body = {};
  bool close = false;  // close the connection after this answer
};

[[nodiscard]] Response json_response(int status, std::string body);

// "OK", "Not Found", …; "Unknown" for a status that has no phrase here.
[[nodiscard]] std::string_view reason_phrase(int status);

// What a request target says, decoded. `host` is set by the absolute form only
// (`GET http://host/path`), where it counts instead of the Host header.
struct Target {
  std::string path = {};
  std::vector<QueryParameter> query = {};
  std::string host = {};
};

// Splits and decodes a request target. In the query '+' is a space, as forms send it.
// Errors: kBadRequest for a bad escape, an escaped NUL, a fragment, or no known form.
[[nodiscard]] Result<Target> parse_target(std::string_view target);

// "%41b" -> "Ab". Errors: kBadRequest, as above.
[[nodiscard]] Result<std::string> percent_decode(std::string_view text, bool plus_is_space = false);
// Escapes everything but unreserved characters, for a client that builds a path or a query.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace ackline::http
