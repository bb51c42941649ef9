#include "ackline/http/host_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ackline/base/ascii.h"

namespace ackline::http {
namespace {

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "Host:80" -> "host", "[::1]:80" -> "[::1]"; nothing when it is neither. A bare "::1", which only
// configuration may write, is put into brackets.
std::optional<std::string> host_name(std::string_view text, bool bare_ipv6) {
  if (text.empty()) {
    return std::nullopt;
  }
  if (text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) {
      return std::nullopt;
    }
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && (rest.front() != ':' || !all_digits(rest.substr(1)))) {
      return std::nullopt;
    }
    return ascii_lower(text.substr(0, close + 1));
  }
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos) {
    return bare_ipv6 ? std::optional("[" + ascii_lower(text) + "]") : std::nullopt;
  }
  if (colon == 0 || (colon != std::string_view::npos && !all_digits(text.substr(colon + 1)))) {
    return std::nullopt;
  }
  return ascii_lower(text.substr(0, colon));
}

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// `host` is a name of this listener. A page of the same name at another port is another's page.
bool origin_allowed(std::string_view origin, std::string_view host, const AllowedHosts& allowed) {
  const std::string whole = ascii_lower(origin);
  return contains(allowed.origins, whole) || whole == "http://" + ascii_lower(host) ||
         whole == "https://" + ascii_lower(host);
}

// Browsers say where a request comes from also where they send no Origin: an image of another site
// could otherwise poll, which takes deliveries. A link to a page is no harm.
bool site_allowed(const Request& request) {
  const auto site = request.header("sec-fetch-site");
  if (!site || *site == "same-origin" || *site == "none") {
    return true;
  }
  return request.method == "GET" && request.header("sec-fetch-mode") == "navigate" &&
         request.header("sec-fetch-dest") == "document" && !request.path.starts_with("/events/");
}

std::unexpected<Error> refuse_page(std::string_view what) {
  return fail(ErrorCode::kForbidden, fmt::format("{} may not call this server", what),
              "Open the page from this server.");
}

std::unexpected<Error> refuse_host(std::string detail) {
  return fail(ErrorCode::kForbidden, std::move(detail),
              "Call it by the address it listens on, or add the name to its host names.");
}

}  // namespace

AllowedHosts allowed_hosts(std::string_view host, const std::vector<std::string>& extra) {
  AllowedHosts allowed;
  const auto add = [&](std::string_view text) {
    auto name = host_name(text, true);
    if (name && !contains(allowed.names, *name)) {
      allowed.names.push_back(std::move(*name));
    }
  };
  add(host);
  const std::string own = allowed.names.empty() ? std::string() : allowed.names.front();
  if (own == "localhost" || own.starts_with("127.") || own == "[::1]" || own == "0.0.0.0" ||
      own == "[::]") {
    add("localhost");
    add("127.0.0.1");
    add("[::1]");
  }
  for (const std::string& name : extra) {
    add(name);
  }
  return allowed;
}

Result<void> check_host_and_origin(const Request& request, const AllowedHosts& allowed) {
  const auto host = request.header("host");
  if (!host) {
    return refuse_host("the request has no Host");
  }
  const auto name = host_name(*host, false);
  if (!name || !contains(allowed.names, *name)) {
    return refuse_host(fmt::format("Host \"{}\" is not a name of this listener", *host));
  }
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    if (same_ignoring_case(request.headers.name(i), "origin") &&
        !origin_allowed(request.headers.value(i), *host, allowed)) {
      return refuse_page(fmt::format("pages of Origin \"{}\"", request.headers.value(i)));
    }
  }
  if (!site_allowed(request)) {
    return refuse_page("pages of other sites");
  }
  return {};
}

}  // namespace ackline::http
