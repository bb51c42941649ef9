#include "ackline/api/call.h"

#include <fmt/format.h>

namespace ackline::api {

Input Call::only_body(Names known) const {
  Input parameters = query({});
  if (parameters.failed()) {
    return parameters;
  }
  return body(known);
}

void answer_json(http::Responder& responder, std::string body, int status) {
  responder.respond(http::json_response(status, std::move(body)));
}

void answer_json(http::Responder& responder, JsonWriter writer, int status) {
  answer_json(responder, writer.take(), status);
}

Done<Removed> answer_removed(http::Responder responder) {
  return answer_with<Removed>(std::move(responder), [](JsonWriter& writer, const Removed& gone) {
    writer.begin_object()
        .field("removed", gone.removed)
        .field_or_null("auditId", gone.audit_id)
        .end_object();
  });
}

Error unsupported(std::string detail, std::string remedy, std::string field) {
  return {ErrorCode::kUnsupported, std::move(detail), std::move(remedy), std::move(field)};
}

bool confirmed(Input& input, std::string_view what) {
  if (input.flag("confirm").value_or(false)) {
    return true;
  }
  input.set_error({ErrorCode::kConfirmRequired, fmt::format("{} cannot be undone", what),
                   "Say confirm=true if you mean it.", "confirm"});
  return false;
}

}  // namespace ackline::api
