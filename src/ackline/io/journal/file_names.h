// Names of journal files. A number is used once; which file is older is in the headers, since files
// are used again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ackline::io::journal {

// "journal-00000007"
[[nodiscard]] std::string file_name(std::uint64_t number);
// nullopt for any other file.
[[nodiscard]] std::optional<std::uint64_t> file_number(std::string_view name);

// The file that `Journal::open` makes before it is renamed.
inline constexpr std::string_view kHalfMadeName = "opening.new";
// Damaged files are set aside as "damaged-journal-00000007".
inline constexpr std::string_view kDamagedPrefix = "damaged-";
// Until then "journal-00000007.damaged", which is empty, says of one that damage was found in it.
inline constexpr std::string_view kMarkSuffix = ".damaged";

}  // namespace ackline::io::journal
