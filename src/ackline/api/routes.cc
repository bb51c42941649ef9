#include "ackline/api/routes.h"

#include <array>

#include "ackline/api/handlers.h"

namespace ackline::api {
namespace {

using enum BodyKind;

constexpr auto kRoutes = std::to_array<Route>({
    {"POST", "/events/publish", kOnTraffic, publish, kOwn},
    {"POST", "/events/ack", kOnTraffic, ack, kJson},
    {"GET", "/events/poll", kOnTraffic, poll},
    {"POST", "/events/publish-batch", kOnTraffic, publish_batch, kOwn},
    {"POST", "/events/nack", kOnTraffic, nack, kJson},
    {"POST", "/events/reject", kOnTraffic, reject, kJson},
    {"POST", "/events/extend", kOnTraffic, extend, kJson},
    {"GET", "/events/stream", kOnTraffic, stream},
    {"POST", "/events/subscribe", kOnTraffic, subscribe, kJson},
    {"POST", "/events/unsubscribe", kOnTraffic, unsubscribe, kJson},
    {"GET", "/admin/lag", kOnAdmin, lag},
    {"GET", "/admin/holes", kOnAdmin, holes},
    {"GET", "/admin/explain", kOnAdmin, explain},
    {"POST", "/admin/replay", kOnAdmin, replay, kJson, true},
    {"POST", "/admin/reset", kOnAdmin, reset, kJson, true},
    {"GET", "/admin/events", kOnAdmin, query_events},
    {"GET", "/admin/dlq/browse", kOnAdmin, browse_dead_letters},
    {"POST", "/admin/dlq/redrive", kOnAdmin, redrive, kJson, true},
    {"POST", "/admin/dlq/replay", kOnAdmin, redrive, kJson, true},
    {"POST", "/admin/dlq/purge", kOnAdmin, purge_dead_letters, kJson, true},
    {"GET", "/admin/lanes", kOnAdmin, list_lanes},
    {"GET", "/admin/lanes/{lane}", kOnAdmin, get_lane},
    {"DELETE", "/admin/lanes/{lane}", kOnAdmin, end_lane, kNone, true},
    {"GET", "/admin/topics", kOnAdmin, list_topics},
    {"POST", "/admin/topics", kOnAdmin, create_topic, kJson, true},
    {"GET", "/admin/topics/{topic}", kOnAdmin, get_topic},
    {"DELETE", "/admin/topics/{topic}", kOnAdmin, delete_topic, kNone, true},
    {"GET", "/admin/groups", kOnAdmin, list_groups},
    {"GET", "/admin/groups/{topic}/{group}", kOnAdmin, get_group},
    {"PATCH", "/admin/groups/{topic}/{group}", kOnAdmin, patch_group, kJson, true},
    {"DELETE", "/admin/groups/{topic}/{group}", kOnAdmin, delete_group, kNone, true},
    {"GET", "/admin/subscriptions", kOnAdmin, list_subscriptions},
    {"GET", "/admin/clients", kOnAdmin, list_clients},
    {"POST", "/admin/client/reject", kOnAdmin, reject_client, kJson, true},
    {"GET", "/admin/offsets", kOnAdmin, list_offsets},
    {"GET", "/admin/config", kOnAdmin, config},
    {"POST", "/admin/drain", kOnAdmin, drain, kJson, true},
    {"DELETE", "/admin/drain", kOnAdmin, undrain, kNone, true},
    {"GET", "/admin/health", kOnAdmin, ready},
    {"GET", "/livez", kOnBoth, live},
    {"GET", "/readyz", kOnBoth, ready},
    {"GET", "/openapi.json", kOnBoth, openapi},
    {"GET", "/metrics", kOnAdmin, metrics},
    {"GET", "/", kOnAdmin, page_html},
    {"GET", "/ui/live.css", kOnAdmin, page_css},
    {"GET", "/ui/live.js", kOnAdmin, page_js},
});

constexpr auto kAbsent = std::to_array<AbsentRoute>({
    {"/events/request", kOnTraffic, "request-reply"},
    {"/events/reply", kOnTraffic, "request-reply"},
    {"/events/lite/*", kOnTraffic, "lite topics"},
    {"/session/*", kOnTraffic, "sessions"},
    {"/agent/*", kOnTraffic, "agents"},
    {"/a2a/*", kOnTraffic, "agent-to-agent tasks (A2A)"},
    {"/.well-known/agent-card.json", kOnTraffic, "agent-to-agent tasks (A2A)"},
    {"/admin/ratelimit", kOnAdmin, "rate limits"},
    {"/admin/ratelimit/*", kOnAdmin, "rate limits"},
    {"/admin/connectors", kOnAdmin, "connectors"},
    {"/admin/connectors/*", kOnAdmin, "connectors"},
    {"/admin/cluster", kOnAdmin, "a cluster"},
    {"/admin/cluster/*", kOnAdmin, "a cluster"},
    {"/admin/tasks", kOnAdmin, "tasks"},
    {"/admin/tasks/*", kOnAdmin, "tasks"},
    {"/admin/audit", kOnAdmin, "a query of the audit log"},
    {"/admin/audit/*", kOnAdmin, "a query of the audit log"},
});

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}
std::span<const AbsentRoute> absent_routes() {
  return kAbsent;
}

bool match_path(std::string_view pattern, std::string_view path, std::vector<std::string>& names) {
  const std::size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) {
    if (pattern.ends_with('*')) {
      return path.starts_with(pattern.substr(0, pattern.size() - 1));
    }
    return path == pattern;
  }
  if (!path.starts_with(pattern.substr(0, brace))) {
    return false;
  }
  names.clear();
  while (!pattern.empty()) {
    if (pattern.front() != '{') {
      if (path.empty() || path.front() != pattern.front()) {
        return false;
      }
      pattern.remove_prefix(1);
      path.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end == 0) {
      return false;
    }
    names.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
    pattern.remove_prefix(pattern.find('}') + 1);
  }
  return path.empty();
}

}  // namespace ackline::api
