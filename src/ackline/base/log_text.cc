#include "ackline/base/log_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "ackline/base/utf8.h"

namespace ackline::log_text {
namespace {

// Code points above ASCII that could break or reorder the line of a terminal or log viewer.
bool misleads(std::string_view sequence) {
  const auto byte = [sequence](std::size_t i) { return static_cast<std::uint8_t>(sequence[i]); };
  if (sequence.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;  // C1 controls
  if (sequence.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80) return byte(2) >= 0xA8 && byte(2) <= 0xAE;  // U+2028 to U+202E
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;    // U+2066 to U+2069
}

void append_hex(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(c));
  }
}

void append_ascii(char c, std::string& out) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    default:
      break;
  }
  const bool control = static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F;
  if (control) {
    append_hex(std::string_view(&c, 1), out);
  } else {
    out += c;
  }
}

// True if nothing had to be escaped.
bool append_escaped(std::string_view text, std::string& out) {
  const std::size_t before = out.size();
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) {
      append_hex(text.substr(at, 1), out);
      ++at;
      continue;
    }
    const std::string_view sequence = text.substr(at, length);
    if (length == 1) {
      append_ascii(text[at], out);
    } else if (misleads(sequence)) {
      append_hex(sequence, out);
    } else {
      out += sequence;
    }
    at += length;
  }
  return out.size() - before == text.size();
}

}  // namespace

void append_value(std::string_view value, std::string& out) {
  const std::size_t cut = value.size() > kValueMaxBytes ? value.size() - kValueMaxBytes : 0;
  const std::size_t start = out.size();
  const bool plain = append_escaped(value.substr(0, value.size() - cut), out);
  if (!plain || value.empty() || value.find_first_of(" =") != std::string_view::npos) {
    out.insert(start, 1, '"');
    out += '"';
  }
  if (cut > 0) out += fmt::format("[+{} bytes]", cut);
}

void append_message(std::string_view message, std::string& out) {
  append_escaped(message, out);
}

std::string name(std::string_view name) {
  std::string out;
  append_message(name.substr(0, 128), out);
  return out;
}

std::string number(double value) {
  return fmt::format("{}", value);
}

}  // namespace ackline::log_text
