// The reader of .properties files. Laws: what comes out is UTF-8 and stands on a line of the file;
// written with every character as an escape, by a writer of its own, it is read back the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "ackline/base/properties.h"
#include "ackline/base/utf8.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using ackline::parse_properties;
using ackline::Properties;
using ackline::fuzz::law;

void append_unit(std::uint32_t unit, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    out += kDigits[(unit >> static_cast<unsigned>(shift)) & 0xFU];
  }
}

// UTF-8 to \uXXXX, surrogates above the first plane.
std::string all_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = ackline::utf8_sequence_length(text);
    std::uint32_t code = static_cast<unsigned char>(text[0]);
    if (length > 1) code &= 0xFFU >> (length + 1);
    for (std::size_t i = 1; i < length; ++i) {
      code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
    }
    if (code >= 0x10000) {
      append_unit(0xD800 + ((code - 0x10000) >> 10U), out);
      append_unit(0xDC00 + ((code - 0x10000) & 0x3FFU), out);
    } else {
      append_unit(code, out);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Properties first = parse_properties("a.properties", text);
  std::size_t lines = 1;
  for (const char c : text) lines += c == '\n' || c == '\r' ? 1U : 0U;
  std::string escaped;
  std::string plain;
  std::size_t before = 0;
  for (const auto& item : first.items) {
    law(ackline::is_utf8(item.key) && ackline::is_utf8(item.value), "it is UTF-8");
    law(item.line > before && item.line <= lines, "it stands on a line of its own");
    before = item.line;
    escaped += all_escaped(item.key) + " = " + all_escaped(item.value) + "\n";
    plain += all_escaped(item.key) + "=" + ackline::escaped_property_value(item.value) + "\r\n";
  }
  ackline::fuzz::planted(first.items.size() == 5);
  for (const auto& problem : first.problems) {
    law(!problem.detail.empty() && !problem.remedy.empty(), "a problem has its sentences");
  }
  for (const std::string& again : {escaped, plain}) {
    const Properties second = parse_properties("b.properties", again);
    law(second.problems.empty() && second.items.size() == first.items.size(), "all is read back");
    for (std::size_t i = 0; i < first.items.size(); ++i) {
      law(second.items[i].key == first.items[i].key &&
              second.items[i].value == first.items[i].value,
          "it is the same");
    }
  }
  return 0;
}
