#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "ackline/base/nearest.h"
#include "ackline/event/cloud_event.h"
#include "ackline/event/filter_node.h"
#include "ackline/event/json_scan.h"

namespace ackline::event {
namespace {

constexpr std::array<std::string_view, 7> kDialects = {"exact", "prefix", "suffix", "all",
                                                       "any",   "not",    "sql"};

std::unexpected<Error> bad(std::string_view path, std::string detail, std::string remedy) {
  return fail(ErrorCode::kBadValue, std::move(detail), std::move(remedy), std::string(path));
}

class FilterReader {
 public:
  // A filter object, or at the top an array of them.
  Result<Filter::Node> read(std::string_view value, const std::string& path, std::size_t depth) {
    if (depth > kMaxFilterDepth) {
      return bad("filter", fmt::format("the filter is nested deeper than {}", kMaxFilterDepth),
                 "Use a flatter filter.");
    }
    if (++nodes_ > kMaxFilterNodes) {
      return bad("filter", fmt::format("the filter has more than {} parts", kMaxFilterNodes),
                 "Use a smaller filter.");
    }
    const JsonKind kind = json_kind(value);
    if (kind == JsonKind::kArray && depth == 1) {
      return read_children(Dialect::kAll, value, path, depth);
    }
    if (kind != JsonKind::kObject) {
      return bad(path, fmt::format("{} is {}, not a filter object", path, json_kind_name(kind)),
                 "Write it like {\"exact\":{\"type\":\"order.created\"}}.");
    }
    return read_dialect(value, path, depth);
  }

 private:
  Result<Filter::Node> read_dialect(std::string_view object, const std::string& path,
                                    std::size_t depth) {
    std::optional<JsonMember> only;
    JsonMember member;
    for (JsonWalker walker(object); walker.next(member);) {
      if (only) {
        const bool same = json_string(only->name) == json_string(member.name);
        return same ? std::unexpected<Error>(fail(ErrorCode::kDuplicateKey,
                                                  fmt::format("{} names a dialect twice", path),
                                                  "Name it once.", path))
                    : bad(path, fmt::format("{} has more than one dialect", path),
                          "Put each into an object of its own, in an array.");
      }
      only = member;
    }
    if (!only) {
      return bad(path, fmt::format("{} is an empty object", path),
                 "Name a dialect, such as exact.");
    }
    const std::string name = json_string(only->name).value_or(std::string());
    const auto found = std::ranges::find(kDialects, name);
    if (found == kDialects.end()) {
      return std::unexpected(unknown_field_error(path, name, kDialects));
    }
    const std::string inner = fmt::format("{}.{}", path, name);
    if (name == "sql") {
      return fail(ErrorCode::kUnsupported, "sql filters are not in this build",
                  "Use exact, prefix, suffix, all, any and not.", inner);
    }
    const auto dialect = static_cast<Dialect>(found - kDialects.begin());
    switch (dialect) {
      case Dialect::kAll:
      case Dialect::kAny:
        return read_array(dialect, only->value, inner, depth);
      case Dialect::kNot:
        return read_not(only->value, inner, depth);
      default:
        return read_attributes(dialect, only->value, inner);
    }
  }

  Result<Filter::Node> read_array(Dialect dialect, std::string_view value, const std::string& path,
                                  std::size_t depth) {
    if (json_kind(value) != JsonKind::kArray) {
      return bad(path,
                 fmt::format("{} is {}, not an array", path, json_kind_name(json_kind(value))),
                 "Make it an array of filter objects.");
    }
    auto node = read_children(dialect, value, path, depth);
    if (node && node->children.empty()) {
      return bad(path, fmt::format("{} is an empty array", path), "Put a filter into it.");
    }
    return node;
  }

  Result<Filter::Node> read_children(Dialect dialect, std::string_view array,
                                     const std::string& path, std::size_t depth) {
    Filter::Node node;
    node.dialect = dialect;
    std::string_view element;
    for (JsonWalker walker(array); walker.next(element);) {
      auto child = read(element, fmt::format("{}[{}]", path, node.children.size()), depth + 1);
      if (!child) {
        return child;
      }
      node.children.push_back(std::move(*child));
    }
    return node;
  }

  Result<Filter::Node> read_not(std::string_view value, const std::string& path,
                                std::size_t depth) {
    auto child = read(value, path, depth + 1);
    if (!child) {
      return child;
    }
    Filter::Node node;
    node.dialect = Dialect::kNot;
    node.children.push_back(std::move(*child));
    return node;
  }

  static Result<Filter::Node> read_attributes(Dialect dialect, std::string_view value,
                                              const std::string& path) {
    if (json_kind(value) != JsonKind::kObject) {
      return bad(path,
                 fmt::format("{} is {}, not an object", path, json_kind_name(json_kind(value))),
                 "Write it like {\"type\":\"order.created\"}.");
    }
    Filter::Node node;
    node.dialect = dialect;
    JsonMember member;
    for (JsonWalker walker(value); walker.next(member);) {
      const std::string name = json_string(member.name).value_or(std::string());
      if (auto fits = check_attribute_name(name); !fits) {
        return bad(path, fits.error().detail, fits.error().remedy);
      }
      const std::string inner = fmt::format("{}.{}", path, name);
      if (json_kind(member.value) != JsonKind::kString) {
        return bad(
            inner,
            fmt::format("{} is {}, not a string", inner, json_kind_name(json_kind(member.value))),
            "Put it in quotes: attributes are compared by their text.");
      }
      auto text = json_string(member.value);
      if (!text || text->empty()) {
        return bad(inner, fmt::format("{} is {}", inner, text ? "empty" : "half a character"),
                   "Give it a text.");
      }
      node.attributes.emplace_back(name, std::move(*text));
    }
    if (node.attributes.empty()) {
      return bad(path, fmt::format("{} is empty", path), "Name an attribute.");
    }
    std::ranges::sort(node.attributes);
    const auto twice = std::ranges::adjacent_find(
        node.attributes, [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != node.attributes.end()) {
      return fail(ErrorCode::kDuplicateKey, fmt::format("{} names {} twice", path, twice->first),
                  "Name it once.", path);
    }
    return node;
  }

  std::size_t nodes_ = 0;
};

}  // namespace

Result<Filter::Node> parse_filter_node(std::string_view json) {
  if (json.size() > kMaxFilterBytes) {
    return bad("filter",
               fmt::format("the filter has {} bytes; at most {} are allowed", json.size(),
                           kMaxFilterBytes),
               "Use a smaller filter.");
  }
  if (auto utf8 = check_utf8(json); !utf8) {
    utf8.error().field = "filter";
    return fail(utf8);
  }
  auto document = json_document(json);
  if (!document) {
    document.error().field = "filter";
    return fail(document);
  }
  return FilterReader().read(*document, "filter", 1);
}

}  // namespace ackline::event
