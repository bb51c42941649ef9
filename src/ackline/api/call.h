// One request on its way through a handler, and what handlers share.
//
// A handler is a plain function: it reads the request through `Input`, calls `Traffic` or `Admin`,
// and renders the answer in the callback. `Api` outlives every callback.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackline/api/input.h"
#include "ackline/api/json_writer.h"
#include "ackline/api/router.h"
#include "ackline/http/problem.h"
#include "ackline/http/responder.h"

namespace ackline::api {

struct Api {
  RouterOptions options;
  RouterServices services;

  [[nodiscard]] Traffic& traffic() const { return services.traffic; }
  [[nodiscard]] Admin& admin() const { return services.admin; }
};

struct Call {
  http::Request request;
  http::Responder responder;
  std::vector<std::string> names;  // what stood for `{…}` in the path, in order

  // Whose request it is, and where it came from; once.
  [[nodiscard]] Caller take_caller() { return {.remote = std::move(request.remote)}; }
  [[nodiscard]] Input query(Names known) const { return Input::from_query(request.query, known); }
  [[nodiscard]] Input body(Names known) const { return Input::from_body(request.body, known); }
  // A body for a route that takes no query.
  [[nodiscard]] Input only_body(Names known) const;
};

using Handler = void (*)(const Api& api, Call& call);

void answer_json(http::Responder& responder, std::string body, int status = 200);
void answer_json(http::Responder& responder, JsonWriter writer, int status = 200);

// The callback of most routes: the error as a problem, or what `render` writes.
template <class T, class Render>
[[nodiscard]] Done<T> answer_with(http::Responder responder, Render render, int status = 200) {
  return [responder = std::move(responder), render = std::move(render),
          status](Result<T> result) mutable {
    if (!result) {
      responder.respond(result.error());
      return;
    }
    JsonWriter writer;
    render(writer, *result);
    answer_json(responder, std::move(writer), status);
  };
}

// What deleting answers: whether something went, and the line of the audit log.
[[nodiscard]] Done<Removed> answer_removed(http::Responder responder);

[[nodiscard]] Error unsupported(std::string detail, std::string remedy = {},
                                std::string field = {});
// True when `confirm` says yes; else the error is set.
bool confirmed(Input& input, std::string_view what);

}  // namespace ackline::api
