// The YAML reader of the configuration. The library keeps duplicate keys apart but reports neither
// them nor the path to a value; both are done here.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <utility>

#include "ackline/base/config_source.h"

namespace ackline::config_source {
namespace {

constexpr std::size_t kFileMaxBytes = std::size_t{1} << 20;
// Far above any real file; aliases that unfold into more and more nodes end here.
constexpr std::size_t kNodesMax = 100'000;
// A section that is an alias of itself has no end.
constexpr std::size_t kDepthMax = 32;

class Reader {
 public:
  Reader(std::string_view path, Settings& settings) : path_(path), settings_(settings) {}

  void read(const YAML::Node& root) {
    if (root.IsNull()) return;
    if (!root.IsMap()) {
      problem(ErrorCode::kBadValue, {}, root.Mark(), "the file is no mapping of keys",
              "Write `key: value` lines.");
      return;
    }
    read_map({}, root, 1);
  }

 private:
  static std::size_t line_of(const YAML::Mark& mark) {
    return static_cast<std::size_t>(mark.line < 0 ? 0 : mark.line) + 1;
  }

  void problem(ErrorCode code, std::string name, const YAML::Mark& mark, std::string_view what,
               std::string_view remedy) {
    settings_.problems.push_back(
        Error{code,
              fmt::format("{}{}{} (file {}:{})", name, name.empty() ? "" : " ", what, path_,
                          line_of(mark)),
              std::string(remedy), std::move(name)});
  }

  void read_map(const std::string& prefix, const YAML::Node& map, std::size_t depth) {
    if (depth > kDepthMax) {
      if (!std::exchange(too_deep_, true)) {
        problem(ErrorCode::kBadValue, prefix, map.Mark(),
                fmt::format("is nested over {} levels deep", kDepthMax),
                "Is it an alias of itself?");
      }
      return;
    }
    for (const auto& entry : map) {
      const YAML::Node& key = entry.first;
      const YAML::Node& value = entry.second;
      if (++nodes_ > kNodesMax) return;
      if (!key.IsScalar()) {
        problem(ErrorCode::kBadValue, prefix, key.Mark(), "holds a key that is no word",
                "Write `key: value` lines.");
        continue;
      }
      const std::string name = prefix.empty() ? key.Scalar() : prefix + "." + key.Scalar();
      if (value.IsMap()) {
        // The same section twice is as ambiguous as the same key twice.
        if (first_seen(name, key.Mark())) read_map(name, value, depth + 1);
        continue;
      }
      if (value.IsNull() && !key.Scalar().empty() && value.Scalar().empty()) {
        // `section:` with every key in it commented out.
        first_seen(name, key.Mark());
        continue;
      }
      if (first_seen(name, key.Mark())) take(name, key.Mark(), value);
    }
  }

  bool first_seen(const std::string& name, const YAML::Mark& mark) {
    const auto [first, fresh] = seen_.try_emplace(name, line_of(mark));
    if (!fresh) {
      problem(ErrorCode::kDuplicateKey, name, mark,
              fmt::format("is given twice, first in line {}", first->second), "Keep one of them.");
    }
    return fresh;
  }

  void take(const std::string& name, const YAML::Mark& mark, const YAML::Node& value) {
    std::string text;
    if (value.IsSequence()) {
      for (const YAML::Node& item : value) {
        if (++nodes_ > kNodesMax) return;
        if (!item.IsScalar() || item.Scalar().find(',') != std::string::npos) {
          problem(ErrorCode::kBadValue, name, item.Mark(), "holds an item that is no plain word",
                  "Write a list of plain words.");
          return;
        }
        text += (text.empty() ? "" : ",") + item.Scalar();
      }
    } else {
      text = value.Scalar();
    }
    settings_.items.push_back(Setting{.name = name,
                                      .text = std::move(text),
                                      .origin = fmt::format("file {}:{}", path_, line_of(mark))});
  }

  std::string_view path_;
  Settings& settings_;
  std::map<std::string, std::size_t> seen_;
  std::size_t nodes_ = 0;
  bool too_deep_ = false;  // said once
};

}  // namespace

Settings read_yaml(std::string_view path, std::string_view text) {
  Settings settings;
  if (text.size() > kFileMaxBytes) {
    settings.problems.push_back(
        Error{ErrorCode::kTooLarge,
              fmt::format("{} has {} bytes; allowed are {}", path, text.size(), kFileMaxBytes),
              "Is it the right file?",
              {}});
    return settings;
  }
  try {
    Reader(path, settings).read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    settings.problems.push_back(
        Error{ErrorCode::kBadValue,
              fmt::format("the file is no YAML: {} (file {}:{})", error.msg, path,
                          static_cast<std::size_t>(error.mark.line < 0 ? 0 : error.mark.line) + 1),
              "Correct the line.",
              {}});
  }
  return settings;
}

}  // namespace ackline::config_source
