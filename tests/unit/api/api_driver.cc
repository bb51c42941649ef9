#include "tests/support/api/api_driver.h"

#include "ackline/api/routes.h"
#include "ackline/base/ascii.h"
#include "tests/support/api/json_schema.h"

namespace ackline::api::testing {
namespace json = boost::json;

std::string Answer::header(std::string_view name) const {
  std::size_t at = head.find('\n');
  while (at != std::string::npos) {
    const std::size_t end = head.find('\r', at);
    const std::string_view line =
        std::string_view(head).substr(at + 1, end == std::string::npos ? end : end - at - 1);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && same_ignoring_case(line.substr(0, colon), name)) {
      return std::string(line.substr(colon + 2));
    }
    at = head.find('\n', at + 1);
  }
  return {};
}

json::value Answer::json() const {
  json::error_code error;
  json::value value = json::parse(body, error);
  EXPECT_FALSE(error) << body;
  return value;
}

std::string Answer::at(std::string_view pointer) const {
  const json::value whole = json();
  json::error_code error;
  const json::value* found = whole.find_pointer(pointer, error);
  if (found == nullptr) return "<none>";
  return found->is_string() ? std::string(found->as_string()) : json::serialize(*found);
}

bool has_field(const Fields& fields, std::string_view name) {
  for (const auto& [one, value] : fields) {
    if (same_ignoring_case(one, name)) return true;
  }
  return false;
}

Wire::Wire(ackline::testing::ManualExecutor& executor, http::RequestHandler& handler,
           http::ListenerKind listener)
    : executor_(executor),
      connection_(http::ServerConnection::make(
          executor.clock().mono(), handler,
          {.limits = {}, .remote = "192.0.2.1:4711", .listener = listener}, [] {})) {}

Wire::~Wire() {
  lose();
}

void Wire::lose() {
  if (!lost_) {
    lost_ = true;
    connection_->on_lost();
    executor_.drain();
  }
}

void Wire::send(std::string_view bytes) {
  connection_->on_bytes(executor_.clock().mono(), bytes);
  round();
}

void Wire::round() {
  executor_.drain();
  do {
    std::string out;
    if (connection_->has_output()) connection_->take_output(out);
    out_ += out;
    connection_->on_written(executor_.clock().mono(), out.size());
    executor_.drain();
  } while (connection_->has_output());
}

Answer parse_answer(std::string_view bytes) {
  Answer answer;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || end == std::string_view::npos) return answer;
  answer.status = std::stoi(std::string(bytes.substr(9, 3)));
  answer.head = bytes.substr(0, end);
  answer.body = bytes.substr(end + 4);
  return answer;
}

std::string check_against_openapi(std::string_view method, std::string_view target,
                                  const Answer& answer) {
  static const json::value document = json::parse(openapi_document());
  if (answer.status == 404 || answer.status == 405 || answer.status == 501) return {};
  const std::string_view path = target.substr(0, target.find('?'));
  std::vector<std::string> names;
  for (const auto& route : document.at("paths").as_object()) {
    if (!match_path(route.key(), path, names)) continue;
    std::string verb(method);
    for (char& c : verb) c = static_cast<char>(c - 'A' + 'a');
    const json::value* operation = route.value().as_object().if_contains(verb);
    if (!operation) continue;
    const json::object& responses = operation->at("responses").as_object();
    const json::value* response = responses.if_contains(std::to_string(answer.status));
    if (!response) response = &responses.at("default");
    const std::string type = answer.header("content-type");
    const std::string base = type.substr(0, type.find(';'));
    const json::value* content = response->at("content").as_object().if_contains(base);
    if (!content) return "content type " + type + " is not in the document";
    if (!base.ends_with("json")) return {};
    return SchemaChecker(document).check(content->at("schema"), answer.json());
  }
  return "the document has no " + std::string(method) + " " + std::string(path);
}

ApiDriver::ApiDriver() {
  RouterServices services{
      traffic,
      fake_admin,
      executor,
      metrics,
      [this](Task done) {
        ++refreshes;
        executor.post(std::move(done));
      },
      [] {
        return std::vector<ConfigItem>{
            {"http.port", "10105", "10105", "default", false, "Port of the traffic."},
            {"admin.token", "***", "", "env ACKLINE_ADMIN_TOKEN", true, "Token of changes."}};
      }};
  RouterOptions options;
  options.hosts = http::allowed_hosts("127.0.0.1", {});
  options.admin_token = kToken;
  traffic_router = make_router(options, services);
  options.listener = http::ListenerKind::kAdmin;
  admin_router = make_router(options, services);
}

std::string ApiDriver::request(std::string_view method, std::string_view target,
                               std::string_view body, Fields fields) {
  std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n";
  if (!has_field(fields, "Host")) fields.emplace_back("Host", "127.0.0.1:10105");
  if (!body.empty()) fields.emplace_back("Content-Length", std::to_string(body.size()));
  for (const auto& [name, value] : fields) {
    if (!value.empty()) text += name + ": " + value + "\r\n";
  }
  return text + "\r\n" + std::string(body);
}

Answer ApiDriver::ask(http::ListenerKind listener, std::string_view method, std::string_view target,
                      std::string_view body, Fields fields) {
  Wire connection = wire(listener);
  connection.send(request(method, target, body, std::move(fields)));
  Answer answer = parse_answer(connection.take());
  EXPECT_NE(answer.status, 0) << method << " " << target;
  if (answer.status != 0) {
    EXPECT_EQ(check_against_openapi(method, target, answer), "")
        << method << " " << target << " " << answer.status << " " << answer.body;
  }
  return answer;
}

}  // namespace ackline::api::testing
