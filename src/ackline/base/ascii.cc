#include "ackline/base/ascii.h"

#include <cstdint>
#include <cstring>

namespace ackline {
namespace {

// Eight bytes at a time: names of header fields are looked at many times in each request.
using Word = std::uint64_t;
constexpr Word kOnes = 0x0101010101010101ULL;
constexpr Word kHighBits = kOnes * 0x80U;

Word load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// What `text` has beyond its whole words, the bytes behind it spaces.
Word load_rest(std::string_view text, std::size_t at) {
  Word word = kOnes * 0x20U;
  char* const bytes = reinterpret_cast<char*>(&word);
  for (std::size_t i = 0; at + i < text.size(); ++i) {
    bytes[i] = text[at + i];
  }
  return word;
}

// Each byte that is 'A' to 'Z' gets the bit 0x20. The sums set a byte's high bit where its lower
// seven are at least 'A', or beyond 'Z'; no sum carries into the next byte.
Word lower_word(Word word) {
  const Word seven = word & ~kHighBits;
  const Word from_a = seven + kOnes * (0x80U - 'A');
  const Word past_z = seven + kOnes * (0x7FU - 'Z');
  return word | ((from_a & ~past_z & ~word & kHighBits) >> 2U);
}

// Whether one of eight bytes is below 0x20, 0x7F or above. A borrow out of a byte only happens
// where that byte is below 0x20 itself, so "none" is exact, and that is all that is asked.
bool has_unprintable(Word word) {
  const Word below = word - kOnes * 0x20U;
  const Word above = word + kOnes;  // 0x7F becomes 0x80
  return ((word | below | above) & kHighBits) != 0;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = ascii_lower(c);
  }
  return out;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  std::size_t at = 0;
  for (; a.size() - at >= sizeof(Word); at += sizeof(Word)) {
    if (lower_word(load(a.data() + at)) != lower_word(load(b.data() + at))) {
      return false;
    }
  }
  return at == a.size() || lower_word(load_rest(a, at)) == lower_word(load_rest(b, at));
}

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_printable_ascii(std::string_view text) {
  std::size_t at = 0;
  for (; text.size() - at >= sizeof(Word); at += sizeof(Word)) {
    if (has_unprintable(load(text.data() + at))) {
      return false;
    }
  }
  return at == text.size() || !has_unprintable(load_rest(text, at));
}

}  // namespace ackline
