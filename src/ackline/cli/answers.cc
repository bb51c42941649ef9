#include "ackline/cli/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "ackline/base/time_text.h"

namespace ackline::cli {
namespace {

constexpr std::int64_t kPage = 1000;

bool is_whole(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

double number_of(const Json& json) {
  return std::strtod(json.text().c_str(), nullptr);
}

std::unexpected<Error> bad_position(std::string_view text) {
  return fail(ErrorCode::kBadValue, fmt::format("{} is no position", text),
              "Give earliest, latest, an offset, 0=5,1=7 or a time like 2026-11-29T12:00:00Z.");
}

}  // namespace

void print_json(Context& context, const Answer& answer) {
  std::string_view body = answer.body;
  while (body.ends_with('\n')) body.remove_suffix(1);
  context.console.out_line(body);
}

Result<ExitCode> show(Context& context, const Result<Answer>& answer,
                      const std::function<void(const Json&)>& render) {
  if (!answer) return fail(answer);
  if (context.json) {
    print_json(context, *answer);
    return ExitCode::kOk;
  }
  const auto json = answer->json();
  if (!json) return fail(json);
  render(*json);
  return ExitCode::kOk;
}

Result<ExitCode> show_list(Context& context, const Target& target, std::int64_t limit_max,
                           const std::function<void(const Json&)>& each,
                           const std::function<void()>& end) {
  std::string after;
  Json first;
  std::int64_t left = limit_max == 0 ? INT64_MAX : limit_max;
  while (left > 0) {
    Target page = target;
    page.query("limit", std::min(left, kPage));
    page.query_if("after", after);
    const auto answer = context.api.get(Port::kAdmin, page);
    if (!answer) return fail(answer);
    const auto json = answer->json();
    if (!json) return fail(json);
    if (after.empty()) first = *json;
    if (context.json) print_json(context, *answer);
    const std::vector<Json> items = (*json)["items"].items();
    if (!context.json) std::ranges::for_each(items, each);
    left -= static_cast<std::int64_t>(items.size());
    after = (*json)["next"].text();
    if (after.empty()) break;
  }
  if (!context.json) end();
  tell_left_out(context, first);
  return ExitCode::kOk;
}

void tell_left_out(Context& context, const Json& answer) {
  std::string numbers;
  for (const Json& partition : answer["quarantined"].items()) {
    numbers += (numbers.empty() ? "" : ", ") + shown(partition);
  }
  if (numbers.empty()) return;
  context.console.err_line("left out, since quarantined: partition " + numbers +
                           " (see ackline doctor)");
}

bool confirmed(Context& context, std::string_view question) {
  if (context.args.flag("confirm")) return true;
  if (context.console.in_is_terminal()) return context.console.confirm(question);
  context.console.err_line("This needs --confirm when nobody is there to ask.");
  return false;
}

OptionSpec confirm_option() {
  return {.names = "--confirm", .kind = OptionKind::kFlag, .help = "Do not ask"};
}

std::string shown_bytes(const Json& number) {
  if (number.is_null()) return "–";
  double value = number_of(number);
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", value) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string shown_seconds(const Json& number) {
  if (number.is_null()) return "–";
  const double value = number_of(number);
  if (value < 120) return fmt::format("{:.1f} s", value);
  if (value < 7200) return fmt::format("{:.1f} min", value / 60);
  return value < 172800 ? fmt::format("{:.1f} h", value / 3600)
                        : fmt::format("{:.1f} d", value / 86400);
}

std::string shown(const Json& value) {
  return value.text("–");
}

Result<std::string> position_json(std::string_view text) {
  if (text == "earliest" || text == "latest") return fmt::format("\"{}\"", text);
  if (is_whole(text)) return fmt::format("{{\"offset\":{}}}", text);
  if (parse_rfc3339(text)) return JsonObject().text("time", text).str();
  JsonObject offsets;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view one = text.substr(from, comma - from);
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string_view offset = one.substr(std::min(equals + 1, one.size()));
    if (!is_whole(one.substr(0, equals)) || !is_whole(offset)) return bad_position(text);
    offsets.raw(one.substr(0, equals), offset);
    from = comma + 1;
  }
  if (from == 0) return bad_position(text);
  return JsonObject().raw("offsets", offsets.str()).str();
}

Result<std::string> partitions_json(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) {
    if (!is_whole(one)) {
      return fail(ErrorCode::kBadValue, fmt::format("{} is no partition", one),
                  "Give numbers with commas between, e.g. 0,1.");
    }
    out += (out.empty() ? "" : ",") + one;
  }
  return "[" + out + "]";
}

}  // namespace ackline::cli
