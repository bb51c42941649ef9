#include "ackline/api/router.h"

#include <fmt/format.h>

#include "ackline/api/routes.h"
#include "ackline/base/ascii.h"
#include "ackline/event/cloud_event.h"

namespace ackline::api {
namespace {

// As long for a wrong token as for a right one.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ other));
  }
  return difference == 0;
}

Result<void> check_token(const http::Request& request, std::string_view token) {
  constexpr std::string_view kRemedy =
      "Send \"Authorization: Bearer\" with the token of admin.token in the data directory.";
  const auto given = request.header("authorization");
  if (!given) {
    return fail(ErrorCode::kUnauthorized, "changes need the admin token", std::string(kRemedy));
  }
  constexpr std::string_view kScheme = "bearer ";
  if (given->size() < kScheme.size() ||
      !same_ignoring_case(given->substr(0, kScheme.size()), kScheme)) {
    return fail(ErrorCode::kUnauthorized, "Authorization is no bearer token", std::string(kRemedy));
  }
  if (token.empty() || !same_secret(given->substr(kScheme.size()), token)) {
    return fail(ErrorCode::kUnauthorized, "the admin token is not the right one",
                std::string(kRemedy));
  }
  return {};
}

// Traffic takes any JSON type, or none; a change over the admin API says application/json, which no
// page of another origin can send unasked.
Result<void> check_media_type(const http::Request& request, const Route& route) {
  if (route.body != BodyKind::kJson) {
    return {};
  }
  const std::string_view type = request.header("content-type").value_or("");
  const std::string_view base = type.substr(0, type.find(';'));
  const bool plain =
      same_ignoring_case(base.substr(0, base.find_last_not_of(" \t") + 1), "application/json");
  if (plain || (!route.changes && (type.empty() || event::is_json_media_type(type)))) {
    return {};
  }
  return fail(ErrorCode::kMediaType,
              type.empty() ? std::string("the request has no Content-Type")
                           : fmt::format("Content-Type is {}", type.substr(0, 64)),
              "Send Content-Type: application/json.");
}

class Router final : public http::RequestHandler {
 public:
  Router(RouterOptions options, RouterServices services)
      : api_{std::move(options), std::move(services)},
        side_(api_.options.listener == http::ListenerKind::kAdmin ? kOnAdmin : kOnTraffic) {}

  void handle(http::Request request, http::Responder responder) override {
    if (auto fine = http::check_host_and_origin(request, api_.options.hosts); !fine) {
      responder.respond(fine.error());
      return;
    }
    Call call{std::move(request), std::move(responder), {}};
    // A HEAD is answered as its GET, whose body the connection leaves out.
    const bool head = call.request.method == "HEAD" && !call.request.path.starts_with("/events/");
    const std::string_view method = head ? std::string_view("GET") : call.request.method;
    std::string allowed;
    for (const Route& route : routes()) {
      if ((route.listeners & side_) == 0 ||
          !match_path(route.path, call.request.path, call.names)) {
        continue;
      }
      if (route.method == method) {
        run(route, call);
        return;
      }
      allowed += allowed.empty() ? "" : ", ";
      allowed += route.method;
    }
    if (allowed.empty()) {
      not_here(call);
    } else {
      wrong_method(call, std::move(allowed));
    }
  }

 private:
  void run(const Route& route, Call& call) {
    if (route.changes) {
      if (auto fine = check_token(call.request, api_.options.admin_token); !fine) {
        http::Response response = http::problem_response(fine.error());
        response.headers.add("www-authenticate", "Bearer");
        call.responder.respond(std::move(response));
        return;
      }
    }
    if (auto fine = check_media_type(call.request, route); !fine) {
      call.responder.respond(fine.error());
      return;
    }
    route.handler(api_, call);
  }

  static void wrong_method(Call& call, std::string allowed) {
    const Error error{ErrorCode::kMethodNotAllowed,
                      fmt::format("{} does not take {}", call.request.path, call.request.method),
                      fmt::format("Use {}.", allowed),
                      {}};
    call.responder.respond(http::problem_response(
        error, {.retry_after_seconds = 1, .allow = std::move(allowed), .extra_members = {}}));
  }

  void not_here(Call& call) const {
    const std::string& path = call.request.path;
    for (const AbsentRoute& absent : absent_routes()) {
      if ((absent.listeners & side_) != 0 && match_path(absent.path, path, call.names)) {
        call.responder.respond(unsupported(fmt::format("this build does not have {}", absent.part),
                                           "See /openapi.json for what it has."));
        return;
      }
    }
    std::string remedy = "See /openapi.json for the paths.";
    const std::uint8_t other = side_ == kOnAdmin ? kOnTraffic : kOnAdmin;
    for (const Route& route : routes()) {
      if ((route.listeners & other) != 0 && match_path(route.path, path, call.names)) {
        remedy = side_ == kOnAdmin ? "It is on the traffic port (http.port)."
                                   : "It is on the admin port (admin.port).";
        break;
      }
    }
    call.responder.respond(Error{ErrorCode::kNotFound,
                                 fmt::format("there is no {} here", path.substr(0, 128)),
                                 std::move(remedy),
                                 {}});
  }

  Api api_;
  std::uint8_t side_;
};

}  // namespace

std::unique_ptr<http::RequestHandler> make_router(RouterOptions options, RouterServices services) {
  return std::make_unique<Router>(std::move(options), std::move(services));
}

std::vector<RouteInfo> route_list() {
  std::vector<RouteInfo> list;
  for (const Route& route : routes()) {
    list.push_back({route.method, route.path, (route.listeners & kOnTraffic) != 0,
                    (route.listeners & kOnAdmin) != 0, route.changes, true});
  }
  for (const AbsentRoute& route : absent_routes()) {
    list.push_back({"", route.path, (route.listeners & kOnTraffic) != 0,
                    (route.listeners & kOnAdmin) != 0, false, false});
  }
  return list;
}

}  // namespace ackline::api
