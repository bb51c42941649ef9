#include "ackline/base/config_peer_keys.h"

#include <string>

#include "ackline/base/config_keys.h"

namespace ackline {
namespace {

constexpr std::string_view kWebSocket =
    "there is no WebSocket yet; /events/stream and /events/poll are on http.port";
constexpr std::string_view kGrpc =
    "there is no gRPC here, and EventMesh does not serve that port either";
constexpr std::string_view kA2a = "A2A tasks are a later part";
constexpr std::string_view kWire = "there is one format of stored events (docs/formats/frame.md)";
constexpr std::string_view kTls = "TLS is a later part; put a proxy in front";
constexpr std::string_view kGate = "the security gate is a later part";
constexpr std::string_view kBroker =
    "Kafka and RocketMQ as event logs are a later part; events are in data.path";
constexpr std::string_view kConnector = "connectors are a later part";
constexpr std::string_view kAgent = "it belongs to an agent's own process, not to the server";

constexpr PeerKey kKeys[] = {
    {"ws.port", kWebSocket},
    {"grpc.port", kGrpc},
    {"a2a.enabled", kA2a},
    {"a2a.port", kA2a},
    {"a2a.token", kA2a},
    {"a2a.taskstore", kA2a},
    {"wire.codec", kWire},
    {"tls.keystore", kTls, true},
    {"tls.keystore.password", kTls, true},
    {"tls.truststore", kTls, true},
    {"tls.truststore.password", kTls, true},
    {"tls.protocol", kTls},
    {"tls.needClientAuth", kTls, true},
    {"security.gate.*", kGate, true},
    {"admin.security.*", kGate, true},
    {"server.rocketmq5.namesrvAddr", kBroker},
    {"server.rocketmq5.cluster", kBroker},
    {"server.rocketmq.namesrvAddr", kBroker},
    {"server.rocketmq.cluster", kBroker},
    {"server.kafka.namesrvAddr", kBroker},
    {"rocketmq5.lite.checkpoint.interval.ms", kBroker},
    {"connector.*", kConnector},
    {"runtime.url", kConnector},
    {"agent.*", kAgent},
};

}  // namespace

std::span<const PeerKey> peer_keys() {
  return kKeys;
}

const PeerKey* find_peer_key(std::string_view name) {
  const std::string wanted = folded_config_name(name);
  for (const PeerKey& key : kKeys) {
    if (key.name.ends_with('*')) {
      const std::string head = folded_config_name(key.name.substr(0, key.name.size() - 1));
      if (wanted.starts_with(head) && wanted.size() > head.size()) return &key;
    } else if (folded_config_name(key.name) == wanted) {
      return &key;
    }
  }
  return nullptr;
}

}  // namespace ackline
