#include "ackline/io/net/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

namespace ackline::io::net {

std::uint16_t Address::port() const {
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::string Address::text() const {
  char host[INET6_ADDRSTRLEN] = "?";
  if (storage.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, host,
              sizeof(host));
  } else if (storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, host,
              sizeof(host));
  }
  return host_and_port(host, port());
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return bare_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port) {
  std::string name = host;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int code = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &raw);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(raw, [](addrinfo* info) {
    if (info != nullptr) {
      freeaddrinfo(info);
    }
  });
  if (code != 0 || list == nullptr) {
    return fail(ErrorCode::kBadValue,
                fmt::format("the host \"{}\" cannot be resolved: {}", host, gai_strerror(code)),
                "Give an address or a name that resolves here.");
  }
  std::vector<Address> addresses;
  for (const addrinfo* info = list.get(); info != nullptr; info = info->ai_next) {
    Address& address = addresses.emplace_back();
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.size = info->ai_addrlen;
  }
  return addresses;
}

}  // namespace ackline::io::net
