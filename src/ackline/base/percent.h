// Percent-decoding, as URIs and the HTTP binding of CloudEvents have it. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ackline {

// Nothing when two hexadecimal digits do not follow a '%'. `plus_is_space`: as in a query.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text,
                                                         bool plus_is_space = false);

}  // namespace ackline
