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

bool same_letters_ignoring_case(std::string_view a, std::string_view b) {
  std::size_t at = 0;
  for (; a.size() - at >= sizeof(Word); at += sizeof(Word)) {
    if (lower_word(load(a.data() + at)) != lower_word(load(b.data() + at))) {
      return false;
    }
  }
  if (at == a.size()) {
    return true;
  }
  if (at > 0) {  // the last eight, some of them once more
    at = a.size() - sizeof(Word);
    return lower_word(load(a.data() + at)) == lower_word(load(b.data() + at));
  }
  while (at < a.size() && ascii_lower(a[at]) == ascii_lower(b[at])) {
    ++at;
  }
  return at == a.size();
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

std::string_view trim_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool is_printable_ascii(std::string_view text) {
  std::size_t at = 0;
  for (; text.size() - at >= sizeof(Word); at += sizeof(Word)) {
    if (has_unprintable(load(text.data() + at))) {
      return false;
    }
  }
  if (at > 0) {
    return at == text.size() || !has_unprintable(load(text.data() + text.size() - sizeof(Word)));
  }
  while (at < text.size() && text[at] >= 0x20 && text[at] <= 0x7E) {
    ++at;
  }
  return at == text.size();
}

}  // namespace ackline
