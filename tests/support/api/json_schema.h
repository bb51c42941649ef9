// The part of JSON Schema that our OpenAPI document uses: enough to hold an answer to it.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ackline::api::testing {

class SchemaChecker {
 public:
  explicit SchemaChecker(const boost::json::value& document) : document_(document) {}

  // "" when `value` is as `schema` says, else where and why not.
  [[nodiscard]] std::string check(const boost::json::value& schema, const boost::json::value& value,
                                  const std::string& at = "$") const;
  // Keywords of `schema`, or of what it contains, that this checker does not know.
  void unknown_keywords(const boost::json::value& schema, std::vector<std::string>& out) const;

 private:
  [[nodiscard]] std::string check_object(const boost::json::object& schema,
                                         const boost::json::object& value,
                                         const std::string& at) const;
  const boost::json::value& document_;
};

}  // namespace ackline::api::testing
