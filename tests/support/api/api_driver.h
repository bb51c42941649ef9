// Drives the routes as a client does: bytes through a ServerConnection, answers parsed back and
// held to the OpenAPI document, every one of them.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/api/router.h"
#include "ackline/http/server_connection.h"
#include "tests/support/api/fake_admin.h"
#include "tests/support/api/fake_traffic.h"
#include "tests/support/manual_executor.h"

namespace ackline::api::testing {

struct Answer {
  int status = 0;
  std::string head;  // status line and fields
  std::string body;

  [[nodiscard]] std::string header(std::string_view name) const;
  [[nodiscard]] boost::json::value json() const;
  // A member by JSON pointer as text: strings without quotes; "<none>" when it is not there.
  [[nodiscard]] std::string at(std::string_view pointer) const;
  [[nodiscard]] std::string error() const { return at("/error"); }
};

using Fields = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] bool has_field(const Fields& fields, std::string_view name);

// One connection whose far end is the test.
class Wire {
 public:
  Wire(ackline::testing::ManualExecutor& executor, http::RequestHandler& handler,
       http::ListenerKind listener);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  void send(std::string_view bytes);
  void round();
  void lose();
  [[nodiscard]] std::string take() { return std::exchange(out_, {}); }

 private:
  ackline::testing::ManualExecutor& executor_;
  std::shared_ptr<http::ServerConnection> connection_;
  std::string out_;
  bool lost_ = false;
};

class ApiDriver {
 public:
  static constexpr std::string_view kToken = "sesame";
  ApiDriver();

  // Adds Host and Content-Length when they are not there.
  static std::string request(std::string_view method, std::string_view target,
                             std::string_view body, Fields fields);
  Answer ask(http::ListenerKind listener, std::string_view method, std::string_view target,
             std::string_view body = {}, Fields fields = {});
  // Traffic.
  Answer get(std::string_view target) { return ask(http::ListenerKind::kTraffic, "GET", target); }
  Answer post(std::string_view target, std::string_view body,
              std::string_view type = "application/json") {
    return ask(http::ListenerKind::kTraffic, "POST", target, body,
               {{"Content-Type", std::string(type)}});
  }
  Answer publish(std::string_view body, std::string_view type = "application/cloudevents+json",
                 std::string_view query = "topic=orders") {
    return post("/events/publish?" + std::string(query), body, type);
  }
  // Admin, with the token when it is a change.
  Answer admin_get(std::string_view target) {
    return ask(http::ListenerKind::kAdmin, "GET", target);
  }
  Answer admin(std::string_view method, std::string_view target, std::string_view body = {}) {
    return ask(
        http::ListenerKind::kAdmin, method, target, body,
        {{"Authorization", "Bearer " + std::string(kToken)}, {"Content-Type", "application/json"}});
  }
  Wire wire(http::ListenerKind listener = http::ListenerKind::kTraffic) {
    return Wire(executor, handler(listener), listener);
  }
  [[nodiscard]] http::RequestHandler& handler(http::ListenerKind listener) {
    return listener == http::ListenerKind::kAdmin ? *admin_router : *traffic_router;
  }

  ackline::testing::ManualExecutor executor;
  FakeTraffic traffic{executor};
  FakeAdmin fake_admin{executor};
  MetricRegistry metrics;
  int refreshes = 0;
  std::unique_ptr<http::RequestHandler> traffic_router;
  std::unique_ptr<http::RequestHandler> admin_router;
};

// Problems of `answer` against the OpenAPI document; "" when it is as promised.
[[nodiscard]] std::string check_against_openapi(std::string_view method, std::string_view target,
                                                const Answer& answer);
[[nodiscard]] Answer parse_answer(std::string_view bytes);

inline std::string event_json(std::string_view more = {}) {
  return R"({"specversion":"1.0","id":"1","source":"/shop","type":"order.created")" +
         std::string(more) + "}";
}

}  // namespace ackline::api::testing
