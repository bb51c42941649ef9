// The HTTP API: every route of the contract, over `Traffic` and `Admin`.
//
// A router belongs to one listener and one event loop: it is called on that loop's thread only, and
// everything that it is given is used there. It holds no state of its own but its options; it
// outlives every connection that it answers and every call that it has made (stop the listener,
// then let the runtime finish, then destroy it).
//
// Failures are problem JSON. The order of checks: Host and Origin, path, method, what this build
// lacks (501), the admin token, the media type, the query, the body; then the runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/api/admin.h"
#include "ackline/api/traffic.h"
#include "ackline/base/executor.h"
#include "ackline/base/metrics.h"
#include "ackline/event/json_codec.h"
#include "ackline/http/host_check.h"
#include "ackline/http/responder.h"

namespace ackline::api {

// One line of `/admin/config`.
struct ConfigItem {
  std::string key;
  std::string value;  // a secret that is set comes as "***"
  std::string default_value;
  std::string origin;  // "flag" | "env NAME" | "file PATH:LINE" | "default"
  bool secret = false;
  std::string help;
};

struct RouterOptions {
  http::ListenerKind listener = http::ListenerKind::kTraffic;
  http::AllowedHosts hosts;  // of this listener
  // What a change over the admin API needs as its bearer token; "" refuses every change.
  std::string admin_token;
  event::ParseLimits limits;
  std::string version = "0.1.0";
  std::string build;                     // commit, compiler; shown on the live page's footer
  std::int64_t heartbeat_ms = 15'000;    // of an event stream that has nothing to say
  std::int64_t stream_retry_ms = 2'000;  // what a stream tells its client to wait
  std::int64_t retry_after_seconds = 1;  // sent with 503
  std::int64_t drain_poll_ms = 50;       // how often a waiting drain looks
};

struct RouterServices {
  Traffic& traffic;
  Admin& admin;
  Executor& executor;  // of this loop
  MetricRegistry& metrics;
  // Brings gauges up to date before `/metrics` is written; `done` runs on this router's thread, not
  // before the call has returned. Empty: there are none.
  std::function<void(Task done)> refresh_gauges;
  // Every configuration key, in the order to show. Empty: none.
  std::function<std::vector<ConfigItem>()> config;
};

[[nodiscard]] std::unique_ptr<http::RequestHandler> make_router(RouterOptions options,
                                                                RouterServices services);

// One route as it is registered, for those who hold the code to the documents.
struct RouteInfo {
  std::string_view method;
  std::string_view path;  // "/admin/topics/{topic}"
  bool on_traffic = false;
  bool on_admin = false;
  bool needs_token = false;
  // False for what answers 501 by name: it is not in the OpenAPI document.
  bool built = true;
};
[[nodiscard]] std::vector<RouteInfo> route_list();

// The OpenAPI 3.1 document, as it is served at `/openapi.json`.
[[nodiscard]] std::string_view openapi_document();

}  // namespace ackline::api
