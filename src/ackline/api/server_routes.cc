// The server itself: health, metrics, configuration, drain, the OpenAPI document.
#include <fmt/format.h>

#include <array>

#include "ackline/api/assets.h"
#include "ackline/api/handlers.h"
#include "ackline/api/page.h"

namespace ackline::api {
namespace {

bool no_parameters(Call& call) {
  const Input input = call.query({});
  if (input.failed()) {
    call.responder.respond(input.error());
  }
  return !input.failed();
}

std::string health_json(const std::vector<HealthCheck>& checks, bool& ok) {
  ok = true;
  for (const HealthCheck& check : checks) {
    ok = ok && check.ok;
  }
  JsonWriter writer;
  writer.begin_object().field("status", ok ? "ok" : "failed").key("checks").begin_array();
  for (const HealthCheck& check : checks) {
    writer.begin_object()
        .field("name", check.name)
        .field("status", check.ok ? "ok" : "failed")
        .field_or_null("detail", check.detail)
        .end_object();
  }
  return writer.end_array().end_object().take();
}

// A drain that waits until nothing is in flight, for its deadline, or until it is taken back.
struct Draining : std::enable_shared_from_this<Draining> {
  Draining(const Api& of, http::Responder to, MonoMs until)
      : api(of), responder(std::move(to)), deadline(until) {}

  // Asked for once: later looks must not undo the DELETE that came meanwhile.
  void begin() {
    api.admin().drain(true, [self = shared_from_this()](Result<DrainState> state) {
      self->seen(std::move(state));
    });
  }
  void look() {
    api.admin().drain_progress(
        [self = shared_from_this()](Result<DrainState> state) { self->seen(std::move(state)); });
  }
  void seen(Result<DrainState> state) {
    if (!state) {
      responder.respond(state.error());
      return;
    }
    Executor& executor = api.services.executor;
    const MonoMs now = executor.clock().mono();
    if (state->in_flight == 0 || now >= deadline || state->state != "draining") {
      answer(*state);
    } else if (responder.open()) {
      executor.schedule(std::min(deadline, now.plus(api.options.drain_poll_ms)),
                        [self = shared_from_this()] { self->look(); });
    }
  }
  void answer(const DrainState& state) {
    JsonWriter writer;
    writer.begin_object()
        .field("state", state.state)
        .field("inFlight", state.in_flight)
        .end_object();
    answer_json(responder, std::move(writer));
  }

  const Api& api;
  http::Responder responder;
  MonoMs deadline;
};

}  // namespace

void live(const Api& /*api*/, Call& call) {
  if (!no_parameters(call)) {
    return;
  }
  bool ok = true;
  answer_json(call.responder, health_json({{"process", true, {}}}, ok));
}

void ready(const Api& api, Call& call) {
  if (!no_parameters(call)) {
    return;
  }
  bool ok = true;
  std::string body = health_json(api.admin().readiness(), ok);
  http::Response response = http::json_response(ok ? 200 : 503, std::move(body));
  if (!ok) {
    response.headers.add("retry-after", fmt::format("{}", api.options.retry_after_seconds));
  }
  call.responder.respond(std::move(response));
}

void metrics(const Api& api, Call& call) {
  if (!no_parameters(call)) {
    return;
  }
  auto render = [registry = &api.services.metrics,
                 responder = std::move(call.responder)]() mutable {
    http::Response response;
    response.headers.add("content-type", "text/plain; version=0.0.4; charset=utf-8");
    registry->render_prometheus(response.body);
    responder.respond(std::move(response));
  };
  if (api.services.refresh_gauges) {
    api.services.refresh_gauges(std::move(render));
  } else {
    render();
  }
}

void config(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 3> kParameters = {"limit", "max", "after"};
  Input input = call.query(kParameters);
  const PageRequest page = read_page(input, "config");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  std::vector<Keyed> items;
  if (api.services.config) {
    for (const ConfigItem& one : api.services.config()) {
      JsonWriter writer;
      writer.begin_object()
          .field("key", one.key)
          .field("value", one.value)
          .field("default", one.default_value)
          .field("origin", one.origin)
          .field("secret", one.secret)
          .field("help", one.help)
          .end_object();
      // In the order of the documentation.
      items.push_back({fmt::format("{:06}", items.size()), writer.take()});
    }
  }
  answer_json(call.responder, render_page("config", page, std::move(items)));
}

void drain(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 1> kFields = {"deadlineMs"};
  // A drain may come without a body: at once.
  Input input = call.request.body.empty() ? call.query({}) : call.only_body(kFields);
  const std::int64_t deadline_ms =
      input.whole("deadlineMs", {0, 3'600'000}, "Leave it out not to wait.").value_or(0);
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  const MonoMs deadline = api.services.executor.clock().mono().plus(deadline_ms);
  std::make_shared<Draining>(api, std::move(call.responder), deadline)->begin();
}

void undrain(const Api& api, Call& call) {
  if (!no_parameters(call)) {
    return;
  }
  api.admin().drain(false, answer_with<DrainState>(std::move(call.responder),
                                                   [](JsonWriter& writer, const DrainState& state) {
                                                     writer.begin_object()
                                                         .field("state", state.state)
                                                         .field("inFlight", state.in_flight)
                                                         .end_object();
                                                   }));
}

void openapi(const Api& /*api*/, Call& call) {
  if (no_parameters(call)) {
    answer_json(call.responder, std::string(assets::openapi_json()));
  }
}

std::string_view openapi_document() {
  return assets::openapi_json();
}

}  // namespace ackline::api
