#include "ackline/event/filter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ackline/base/json_text.h"
#include "ackline/event/filter_node.h"

namespace ackline::event {
namespace {

FilterResult from_bool(bool match) {
  return match ? FilterResult::kMatch : FilterResult::kNoMatch;
}

// An attribute whose text is not of its type cannot be compared.
bool is_readable(AttributeView attribute) {
  if (attribute.type == AttributeType::kBoolean) {
    return attribute.value == "true" || attribute.value == "false";
  }
  if (attribute.type != AttributeType::kInteger) {
    return true;
  }
  const std::string_view digits =
      attribute.value.starts_with('-') ? attribute.value.substr(1) : attribute.value;
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

bool compare(Dialect dialect, std::string_view value, std::string_view wanted) {
  switch (dialect) {
    case Dialect::kPrefix:
      return value.starts_with(wanted);
    case Dialect::kSuffix:
      return value.ends_with(wanted);
    default:
      return value == wanted;
  }
}

FilterResult evaluate_attribute(Dialect dialect, const FrameView& event, std::string_view name,
                                std::string_view wanted) {
  if (name == "specversion") {
    return from_bool(compare(dialect, kSpecVersion, wanted));
  }
  const auto attribute = event.find(name);
  if (!attribute) {
    return FilterResult::kNoMatch;
  }
  if (!is_readable(*attribute)) {
    return FilterResult::kError;
  }
  if (attribute->type != AttributeType::kBinary) {
    return from_bool(compare(dialect, attribute->value, wanted));
  }
  std::string text;
  append_canonical(text, *attribute);
  return from_bool(compare(dialect, text, wanted));
}

FilterResult evaluate_node(const Filter::Node& node, const FrameView& event);

// All parts must match: one that does not decides, whatever went wrong in the others.
template <class Parts, class Evaluate>
FilterResult conjunction(const Parts& parts, Evaluate evaluate) {
  FilterResult result = FilterResult::kMatch;
  for (const auto& part : parts) {
    const FilterResult one = evaluate(part);
    if (one == FilterResult::kNoMatch) {
      return one;
    }
    if (one == FilterResult::kError) {
      result = one;
    }
  }
  return result;
}

FilterResult disjunction(const std::vector<Filter::Node>& nodes, const FrameView& event) {
  FilterResult result = FilterResult::kNoMatch;
  for (const Filter::Node& node : nodes) {
    const FilterResult one = evaluate_node(node, event);
    if (one == FilterResult::kMatch) {
      return one;
    }
    if (one == FilterResult::kError) {
      result = one;
    }
  }
  return result;
}

FilterResult negation(FilterResult inner) {
  return inner == FilterResult::kError ? inner : from_bool(inner == FilterResult::kNoMatch);
}

// Recursion ends at kMaxFilterDepth, which the parser holds.
FilterResult evaluate_node(const Filter::Node& node, const FrameView& event) {
  switch (node.dialect) {
    case Dialect::kAll:
      return conjunction(node.children,
                         [&](const Filter::Node& child) { return evaluate_node(child, event); });
    case Dialect::kAny:
      return disjunction(node.children, event);
    case Dialect::kNot:
      return negation(evaluate_node(node.children.front(), event));
    default:
      return conjunction(node.attributes, [&](const auto& each) {
        return evaluate_attribute(node.dialect, event, each.first, each.second);
      });
  }
}

void append_node(std::string& out, const Filter::Node& node);

void append_array(std::string& out, const std::vector<Filter::Node>& nodes) {
  out.push_back('[');
  for (const Filter::Node& node : nodes) {
    if (out.back() != '[') {
      out.push_back(',');
    }
    append_node(out, node);
  }
  out.push_back(']');
}

void append_node(std::string& out, const Filter::Node& node) {
  constexpr std::array<std::string_view, 6> kNames = {"exact", "prefix", "suffix",
                                                      "all",   "any",    "not"};
  out.append("{\"");
  out.append(kNames[static_cast<std::size_t>(node.dialect)]);
  out.append("\":");
  if (node.dialect == Dialect::kNot) {
    append_node(out, node.children.front());
  } else if (!node.children.empty()) {
    append_array(out, node.children);
  } else {
    char separator = '{';
    for (const auto& [name, value] : node.attributes) {
      out.push_back(separator);
      append_json_string(out, name);
      out.push_back(':');
      append_json_string(out, value);
      separator = ',';
    }
    out.push_back('}');
  }
  out.push_back('}');
}

}  // namespace

Filter::Filter() : text_("[]") {}

Filter::Filter(std::shared_ptr<const Node> root, std::string text)
    : root_(std::move(root)), text_(std::move(text)) {}

Result<Filter> Filter::parse(std::string_view json) {
  const bool array = json.find_first_not_of(" \t\r\n") != std::string_view::npos &&
                     json[json.find_first_not_of(" \t\r\n")] == '[';
  auto node = parse_filter_node(json);
  if (!node) {
    return fail(node);
  }
  if (array && node->children.empty()) {
    return Filter();
  }
  std::string text;
  if (array && node->children.size() > 1) {
    append_array(text, node->children);
  } else if (array) {
    Node only = std::move(node->children.front());
    append_node(text, only);
    return Filter(std::make_shared<const Node>(std::move(only)), std::move(text));
  } else {
    append_node(text, *node);
  }
  return Filter(std::make_shared<const Node>(std::move(*node)), std::move(text));
}

FilterResult Filter::evaluate(const FrameView& event) const {
  return root_ == nullptr ? FilterResult::kMatch : evaluate_node(*root_, event);
}

bool Filter::matches_everything() const {
  return root_ == nullptr;
}

}  // namespace ackline::event
