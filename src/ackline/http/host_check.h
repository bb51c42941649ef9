// The defence against DNS rebinding and cross-site requests: a listener answers only to its own
// names, and only to pages of its own origins.
//
// Pure. The API calls it before anything else; both failures are 403 `forbidden`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/http/message.h"

namespace ackline::http {

struct AllowedHosts {
  // Host names without port, lower case; IPv6 in brackets: "localhost", "127.0.0.1", "[::1]". A
  // name matches with any port: behind a forwarded port the client's number is another.
  std::vector<std::string> names;
  // Further origins that may call, whole and lower case: "https://dashboard.example".
  std::vector<std::string> origins;
};

// The names under which a listener bound to `host` is known: itself, the loopback names when it is
// reachable by them, and those of `extra` ("host" or "host:port").
[[nodiscard]] AllowedHosts allowed_hosts(std::string_view host,
                                         const std::vector<std::string>& extra);

// Errors: kForbidden. An Origin passes when it is the very host and port that were called or is in
// `origins`; "null" never does. What a browser marks as coming from another site (Sec-Fetch-Site)
// passes only as a link to a page. A request with neither is no page's.
[[nodiscard]] Result<void> check_host_and_origin(const Request& request,
                                                 const AllowedHosts& allowed);

}  // namespace ackline::http
