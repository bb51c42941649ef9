#include "ackline/cli/console.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace ackline::cli {
namespace {

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::kGreen:
      return "\x1b[32m";
    case Colour::kRed:
      return "\x1b[31m";
    case Colour::kYellow:
      return "\x1b[33m";
    case Colour::kDim:
      return "\x1b[2m";
    case Colour::kBold:
      return "\x1b[1m";
  }
  return {};
}

void write_all(std::FILE* to, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

}  // namespace

Console::Options Console::standard() {
  Options options;
  options.out = [](std::string_view text) { write_all(stdout, text); };
  options.err = [](std::string_view text) { write_all(stderr, text); };
  options.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  options.in_is_terminal = isatty(STDIN_FILENO) == 1;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  options.colours = options.out_is_terminal && std::getenv("NO_COLOR") == nullptr;
  return options;
}

void Console::out(std::string_view text) {
  options_.out(text);
}

void Console::out_line(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  std::string line(text);
  line += '\n';
  options_.out(line);
}

void Console::err_line(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  end_progress();
  std::string line(text);
  line += '\n';
  options_.err(line);
}

std::string Console::paint(Colour colour, std::string_view text) const {
  if (!options_.colours) return std::string(text);
  std::string out(code_of(colour));
  out += text;
  out += "\x1b[0m";
  return out;
}

void Console::progress(std::string_view text) {
  if (!options_.out_is_terminal) return;
  in_progress_ = true;
  std::string line = "\r\x1b[K  ";
  line += text;
  options_.out(line);
}

void Console::end_progress() {
  if (!in_progress_) return;
  in_progress_ = false;
  options_.out("\r\x1b[K");
}

bool Console::confirm(std::string_view question) {
  std::string line(question);
  line += " [y/N] ";
  options_.err(line);
  std::string answer;
  if (!std::getline(std::cin, answer)) return false;
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace ackline::cli
