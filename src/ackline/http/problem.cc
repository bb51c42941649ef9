#include "ackline/http/problem.h"

#include <fmt/format.h>

#include "ackline/base/json_text.h"

namespace ackline::http {
namespace {

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out.push_back(',');
  append_json_string(out, name);
  out.push_back(':');
  append_json_string(out, value);
}

}  // namespace

std::string problem_json(const Error& error, std::string_view extra_members) {
  std::string out = fmt::format(R"({{"type":"urn:ackline:error:{}","title":)", error.word());
  append_json_string(out, error_title(error.code));
  out += fmt::format(R"(,"status":{})", error_status(error.code));
  append_member(out, "error", error.word());
  if (!error.field.empty()) {
    append_member(out, "field", error.field);
  }
  append_member(out, "detail", error.detail);
  if (!error.remedy.empty()) {
    append_member(out, "remedy", error.remedy);
  }
  if (!extra_members.empty()) {
    out.push_back(',');
    out.append(extra_members);
  }
  out.push_back('}');
  return out;
}

Response problem_response(const Error& error, const ProblemOptions& options) {
  Response response;
  response.status = error_status(error.code);
  response.headers.add("content-type", "application/problem+json");
  if (response.status == 429 || response.status == 503) {
    response.headers.add("retry-after", fmt::format("{}", options.retry_after_seconds));
  }
  if (response.status == 405 && !options.allow.empty()) {
    response.headers.add("allow", options.allow);
  }
  response.body = problem_json(error, options.extra_members);
  return response;
}

}  // namespace ackline::http
