#include "ackline/base/time_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ackline {
namespace {

constexpr std::int64_t kMsPerDay = 86'400'000;
constexpr std::int64_t kFirstMs = -62'167'219'200'000;  // 0000-01-01T00:00:00.000Z
constexpr std::int64_t kLastMs = 253'402'300'799'999;   // 9999-12-31T23:59:59.999Z

struct Date {
  int year;
  int month;
  int day;
};

// The year is counted from March, so that the leap day is the last day of its year and a month's
// first day is a linear function; 400 years are 146097 days.
constexpr std::int64_t kDaysTo1970 = 719'468;  // from 0000-03-01
constexpr std::int64_t kDaysPerEra = 146'097;

std::int64_t days_from_date(Date date) {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t month = (date.month + 9) % 12;
  const std::int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * kDaysPerEra + day_of_era - kDaysTo1970;
}

Date date_from_days(std::int64_t days) {
  const std::int64_t shifted = days + kDaysTo1970;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - (kDaysPerEra - 1)) / kDaysPerEra;
  const std::int64_t day_of_era = shifted - era * kDaysPerEra;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  const auto day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  const auto calendar_month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  const std::int64_t year = year_of_era + era * 400 + (calendar_month <= 2 ? 1 : 0);
  return {static_cast<int>(year), calendar_month, day};
}

int days_in_month(int year, int month) {
  if (month == 2) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28;
  }
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Takes fixed-width fields off the front; after a misfit `ok` stays false.
struct Scanner {
  std::string_view rest;
  bool ok = true;

  int number(std::size_t digits) {
    if (rest.size() < digits) {
      ok = false;
      return 0;
    }
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      ok = ok && rest[i] >= '0' && rest[i] <= '9';
      value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(digits);
    return ok ? value : 0;
  }
  bool peek(std::string_view any_of) const {
    return !rest.empty() && any_of.find(rest.front()) != std::string_view::npos;
  }
  void one_of(std::string_view any_of) {
    if (peek(any_of)) {
      rest.remove_prefix(1);
    } else {
      ok = false;
    }
  }
};

int scan_fraction_ms(Scanner& scan) {
  scan.one_of(".");
  int ms = 0;
  std::size_t digits = 0;
  while (scan.peek("0123456789")) {
    if (digits < 3) {
      ms = ms * 10 + (scan.rest.front() - '0');
    }
    ++digits;
    scan.rest.remove_prefix(1);
  }
  scan.ok = scan.ok && digits > 0;
  for (; digits < 3; ++digits) {
    ms *= 10;
  }
  return ms;
}

int scan_offset_minutes(Scanner& scan) {
  if (scan.peek("Zz")) {
    scan.rest.remove_prefix(1);
    return 0;
  }
  const bool west = scan.peek("-");
  scan.one_of("+-");
  const int hours = scan.number(2);
  scan.one_of(":");
  const int minutes = scan.number(2);
  scan.ok = scan.ok && hours <= 23 && minutes <= 59;
  return west ? -(hours * 60 + minutes) : hours * 60 + minutes;
}

void append_digits(std::string& out, int value, int width) {
  char text[4];
  for (int i = width - 1; i >= 0; --i) {
    text[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  out.append(text, static_cast<std::size_t>(width));
}

}  // namespace

void append_rfc3339(std::string& out, WallMs time) {
  const std::int64_t ms = std::clamp(time.value(), kFirstMs, kLastMs);
  std::int64_t days = ms / kMsPerDay;
  std::int64_t left = ms % kMsPerDay;
  if (left < 0) {
    --days;
    left += kMsPerDay;
  }
  const Date date = date_from_days(days);
  const auto of_day = static_cast<int>(left);
  append_digits(out, date.year, 4);
  out.push_back('-');
  append_digits(out, date.month, 2);
  out.push_back('-');
  append_digits(out, date.day, 2);
  out.push_back('T');
  append_digits(out, of_day / 3'600'000, 2);
  out.push_back(':');
  append_digits(out, of_day / 60'000 % 60, 2);
  out.push_back(':');
  append_digits(out, of_day / 1000 % 60, 2);
  out.push_back('.');
  append_digits(out, of_day % 1000, 3);
  out.push_back('Z');
}

std::string format_rfc3339(WallMs time) {
  std::string out;
  append_rfc3339(out, time);
  return out;
}

std::optional<WallMs> parse_rfc3339(std::string_view text) {
  Scanner scan{text};
  Date date{};
  date.year = scan.number(4);
  scan.one_of("-");
  date.month = scan.number(2);
  scan.one_of("-");
  date.day = scan.number(2);
  scan.one_of("Tt");
  const int hour = scan.number(2);
  scan.one_of(":");
  const int minute = scan.number(2);
  scan.one_of(":");
  const int second = scan.number(2);
  const int ms = scan.peek(".") ? scan_fraction_ms(scan) : 0;
  const int offset = scan_offset_minutes(scan);
  if (!scan.ok || !scan.rest.empty() || date.month < 1 || date.month > 12 || date.day < 1 ||
      date.day > days_in_month(date.year, date.month) || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  const std::int64_t utc_minutes =
      days_from_date(date) * 1440 + std::int64_t{hour} * 60 + minute - std::int64_t{offset};
  if (second == 60) {
    const std::int64_t of_day = ((utc_minutes % 1440) + 1440) % 1440;
    return of_day == 1439 ? std::optional(WallMs((utc_minutes + 1) * 60'000)) : std::nullopt;
  }
  return WallMs(utc_minutes * 60'000 + std::int64_t{second} * 1000 + ms);
}

}  // namespace ackline
