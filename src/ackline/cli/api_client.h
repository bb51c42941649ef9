// The commands' way to a running server.
//
// One connection for each of the two ports, kept between calls; blocking; one thread (a command
// with more threads gives each its own client). A problem answer comes back as the Error that the
// server made: same word, detail, remedy and field. Errors beside those: kUnavailable (nobody
// listens there), kTimeout.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/cli/json.h"

namespace ackline::cli {

struct ApiOptions {
  std::string server = "http://127.0.0.1:10105";
  std::string admin = "http://127.0.0.1:10106";
  std::string token = {};  // "": read from `data_path`/admin.token
  std::string data_path = "./ackline-data";
  bool data_named = false;  // with --data, which may be the default's very name
  std::int64_t timeout_ms = 60'000;
};

enum class Port : std::uint8_t { kTraffic, kAdmin };

// A path with its query, encoded.
class Target {
 public:
  explicit Target(std::string_view path) : text_(path) {}
  // Adds `/segment`.
  Target& segment(std::string_view name);
  Target& query(std::string_view name, std::string_view value);
  Target& query(std::string_view name, std::int64_t value);
  // Not when it is "".
  Target& query_if(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  std::string text_;
  bool has_query_ = false;
};

struct Answer {
  int status = 200;
  std::string body;
  [[nodiscard]] Result<Json> json() const { return Json::parse(body); }
};

class ApiClient {
 public:
  explicit ApiClient(ApiOptions options);
  ApiClient(ApiClient&&) noexcept;
  ApiClient& operator=(ApiClient&&) noexcept;
  ~ApiClient();

  [[nodiscard]] Result<Answer> get(Port port, const Target& target);
  [[nodiscard]] Result<Answer> post(Port port, const Target& target, std::string_view body,
                                    std::string_view content_type = "application/json");
  [[nodiscard]] Result<Answer> send(Port port, std::string_view method, const Target& target,
                                    std::string_view body, std::string_view content_type);
  [[nodiscard]] const ApiOptions& options() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackline::cli
