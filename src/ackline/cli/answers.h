// What most commands do with an answer: hand the JSON on, or make a table of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/cli/command.h"

namespace ackline::cli {

// Ends with one newline; the body is the server's, unchanged.
void print_json(Context& context, const Answer& answer);
// JSON as it came, or what `render` makes of it.
[[nodiscard]] Result<ExitCode> show(Context& context, const Result<Answer>& answer,
                                    const std::function<void(const Json&)>& render);

// Every page of a list (`{"items":[…],"next":…}`), item by item. With --output json each page is
// printed as it came instead. `limit_max` 0: all there are.
[[nodiscard]] Result<ExitCode> show_list(Context& context, const Target& target,
                                         std::int64_t limit_max,
                                         const std::function<void(const Json&)>& each,
                                         const std::function<void()>& end);

// Says on stderr which partitions the answer leaves out, if it does.
void tell_left_out(Context& context, const Json& answer);

// Destructive commands: true with --confirm, or after a yes on a terminal.
[[nodiscard]] bool confirmed(Context& context, std::string_view question);
[[nodiscard]] OptionSpec confirm_option();

// "1.2 MiB", "–" for null.
[[nodiscard]] std::string shown_bytes(const Json& number);
// "12.4 s", "3.4 h"; "–" for null.
[[nodiscard]] std::string shown_seconds(const Json& number);
// The text of a value, "–" for null.
[[nodiscard]] std::string shown(const Json& value);

// "earliest", "latest", "42", "0=5,1=7" or an RFC 3339 time, as the API writes a position.
// Errors: kBadValue.
[[nodiscard]] Result<std::string> position_json(std::string_view text);
// "0,1" as a JSON array. Errors: kBadValue.
[[nodiscard]] Result<std::string> partitions_json(const std::vector<std::string>& list);

}  // namespace ackline::cli
