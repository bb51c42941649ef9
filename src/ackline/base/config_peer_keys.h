// Keys of EventMesh that mean nothing here, with the reason: a file that was brought along is told
// which of its lines do nothing, and where going on would not do what it asks, refused.
//
// Constant data, any thread.
#pragma once

#include <span>
#include <string_view>

namespace ackline {

struct PeerKey {
  std::string_view name;  // without the prefix; `*` at its end stands for anything
  std::string_view why;   // a sentence without a full stop
  bool refuse = false;    // going on without would be a promise broken
};

[[nodiscard]] std::span<const PeerKey> peer_keys();
// Compared as the environment does, ignoring case, dots and underscores. Null: no such key.
[[nodiscard]] const PeerKey* find_peer_key(std::string_view name);

}  // namespace ackline
