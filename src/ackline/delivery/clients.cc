// Clients: who takes deliveries, how much of them, and what becomes of the leases of one that goes.
#include <algorithm>
#include <limits>
#include <utility>

#include "ackline/base/check.h"
#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

constexpr std::size_t kFormerNames = 65'536;

}  // namespace

void Dispatcher::Impl::add_client(ClientSpec spec) {
  Group* group = find_group(spec.group);
  if (group == nullptr) {
    return;
  }
  auto& made = clients_[spec.number];
  const bool is_new = made == nullptr;
  if (is_new) {
    made = std::make_unique<Client>();
    made->node = nodes_.add(nullptr, made.get());
    made->group = group;
    group->clients.push_back(made.get());
  }
  ACKLINE_CHECK(made->group == group);
  made->spec = std::move(spec);
  made->short_of = nullptr;  // it may take other partitions now
  former_.erase(made->spec.number);
  if (is_new && resumed_) {
    for (Progress* progress : group->progress) {
      adopt_leases(*progress, made.get());
    }
  }
  refresh_open(*made);
  unpark(*group);
}

// Leases from before a restart wait for their holder to be known again. `only`: of this one, else
// of all, in one pass.
void Dispatcher::Impl::adopt_leases(Progress& progress, const Client* only) {
  progress.slots.for_each([&](std::uint32_t index, Slot& slot) {
    if (slot.state() != SlotState::kLeased ||
        (only != nullptr && slot.client != only->spec.number)) {
      return;
    }
    Client* client = find_client(slot.client);
    if (client == nullptr || client->group != progress.group) {
      return;
    }
    slot.suspect =
        slot.losses >= 2 || (slot.losses == 1 && slot.attempt == progress.max_attempts());
    hold(progress, index, *client);
  });
}

// What it holds, in an order that does not depend on addresses: it shows in the journal.
std::vector<Dispatcher::Impl::Held> Dispatcher::Impl::held_by(const Client& client) {
  std::vector<Held> all;
  for (const auto& [progress, list] : client.holding) {
    for (std::uint32_t at = list.head; at != kNoSlot; at = progress->slots[at].next) {
      all.push_back({progress, at});
    }
  }
  std::ranges::sort(all, [](const Held& a, const Held& b) {
    return std::pair(a.progress->key, a.progress->slots[a.index].offset) <
           std::pair(b.progress->key, b.progress->slots[b.index].offset);
  });
  return all;
}

void Dispatcher::Impl::remove_client(ClientNumber number) {
  Client* client = find_client(number);
  if (client == nullptr) {
    return;
  }
  client->demand = 0;
  refresh_open(*client);
  for (const Held& held : held_by(*client)) {
    if (held.progress->slots[held.index].asked == 0) {
      end_unsubscribed(*held.progress, held.index);
    } else {
      unhold(*held.progress, held.index);  // its dead letter is on its way; if not: `end_if_left`
    }
  }
  former_.insert_or_assign(number, client->spec.client_id);
  former_order_.push_back(number);
  if (former_order_.size() > kFormerNames) {
    former_.erase(former_order_.front());
    former_order_.pop_front();
  }
  forget_client(*client);
}

void Dispatcher::Impl::forget_client(Client& client) {
  client.demand = 0;
  refresh_open(client);
  recent_client_ = nullptr;
  std::erase(client.group->clients, &client);
  timers_.disarm(nodes_, client.node);
  nodes_.remove(client.node);
  clients_.erase(client.spec.number);
}

void Dispatcher::Impl::set_window(ClientNumber number, std::uint32_t events, std::uint64_t bytes) {
  if (Client* client = find_client(number); client != nullptr) {
    client->window_events = events;
    client->window_bytes = bytes;
    refresh_open(*client);
    unpark(*client->group);
  }
}

void Dispatcher::Impl::set_demand(ClientNumber number, std::uint32_t events) {
  if (Client* client = find_client(number); client != nullptr) {
    client->demand = events;
    refresh_open(*client);
    unpark(*client->group);
  }
}

void Dispatcher::Impl::connected(ClientNumber number) {
  Client* client = find_client(number);
  if (client == nullptr) {
    return;
  }
  client->connected = true;
  client->grace_over = false;
  timers_.disarm(nodes_, client->node);
  for (const auto& [progress, list] : client->holding) {
    std::erase_if(progress->resends, [number, &slots = progress->slots](const auto& resend) {
      const Slot* slot = slots.find(resend.slot);
      return slot == nullptr || slot->client == number;  // those of its last stream
    });
  }
  for (const Held& held : held_by(*client)) {
    Progress& progress = *held.progress;
    Slot& slot = progress.slots[held.index];
    slot.at_stake = 0;
    progress.resends.push_back({held.index, slot.epoch, slot.offer});
    if (!progress.resend_queued) {
      progress.resend_queued = true;
      resending_.push_back(&progress);
    }
  }
}

// What it gets from here on, by a poll, is not lost with the stream. Not told by the times: offer
// and break may be of one millisecond.
void Dispatcher::Impl::disconnected(ClientNumber number) {
  Client* client = find_client(number);
  if (client == nullptr) {
    return;
  }
  client->connected = false;
  for (const Held& held : held_by(*client)) {
    held.progress->slots[held.index].at_stake = 1;
  }
  client->demand = 0;
  refresh_open(*client);
  arm_node(client->node, clock_.plus(options_.reconnect_grace_ms));
}

// Whose grace was not over when the drain began is not lost by it (invariant 14).
void Dispatcher::Impl::set_draining(bool draining) {
  const bool ends = std::exchange(draining_, draining) && !draining;
  if (!ends) {
    return;
  }
  for (const auto& [number, client] : clients_) {
    if (nodes_[client->node].timer.armed() || std::exchange(client->grace_over, false)) {
      arm_node(client->node, clock_.plus(options_.reconnect_grace_ms));
    }
  }
}

void Dispatcher::Impl::lose_client(Client& client) {
  if (draining_) {
    client.grace_over = true;
    return;
  }
  for (const Held& held : held_by(client)) {
    const Slot& slot = held.progress->slots[held.index];
    if (slot.asked == 0 && slot.at_stake != 0) {
      end_lost(*held.progress, held.index);
    }
  }
}

// It has had what it was given, so the attempt is used; nobody has to wait for a backoff.
void Dispatcher::Impl::end_unsubscribed(Progress& progress, std::uint32_t index) {
  end_attempt(progress, index, state::EndCause::kNack, 0, "unsubscribed");
}

void Dispatcher::Impl::end_lost(Progress& progress, std::uint32_t index) {
  end_attempt(progress, index, state::EndCause::kLoss,
              backoff(progress, progress.slots[index].attempt), "client lost");
}

// A lease that stayed when its client went, for the sake of a dead letter that then was refused: it
// ends as the client's others did.
void Dispatcher::Impl::end_if_left(Progress& progress, std::uint32_t index) {
  const Slot& slot = progress.slots[index];
  const Client* client = find_client(slot.client);
  if (client == nullptr) {
    end_unsubscribed(progress, index);
  } else if (slot.at_stake != 0 && !client->connected && !client->grace_over &&
             !nodes_[client->node].timer.armed()) {
    end_lost(progress, index);
  }
}

void Dispatcher::Impl::hold(Progress& progress, std::uint32_t index, Client& client) {
  const Slot& slot = progress.slots[index];
  ++client.held;
  client.held_bytes += slot.size_bytes;
  client.suspects += slot.suspect;
  progress.slots.push_back(client.holding[&progress], index);
}

void Dispatcher::Impl::unhold(Progress& progress, std::uint32_t index) {
  Slot& slot = progress.slots[index];
  Client* client = find_client(slot.client);
  if (client == nullptr) {
    return;  // restored, and its holder has not been added
  }
  const auto list = client->holding.find(&progress);
  if (list == client->holding.end()) {
    return;
  }
  progress.slots.remove(list->second, index);
  if (list->second.empty()) {
    client->holding.erase(list);
  }
  client->suspects -= slot.suspect;
  slot.suspect = 0;
  if (plant(Plant::kCreditLeaked) && !client->connected) {
    return;
  }
  --client->held;
  client->held_bytes -= slot.size_bytes;
  refresh_open(*client);
  unpark(*client->group);
}

void Dispatcher::Impl::refresh_open(Client& client) {
  const bool open =
      client.demand > 0 && client.held < client.window_events && client.fits(room_wanted(client));
  std::vector<Client*>& all = client.group->open;
  if (open == (client.open_at != kNoSlot)) {
    return;
  }
  if (open) {
    client.short_of = nullptr;
    client.open_at = static_cast<std::uint32_t>(all.size());
    all.push_back(&client);
    schedule(*client.group);
    return;
  }
  all[client.open_at] = all.back();
  all[client.open_at]->open_at = client.open_at;
  all.pop_back();
  client.open_at = kNoSlot;
}

Client* Dispatcher::Impl::pick(Progress& progress, std::uint32_t size_bytes, bool suspect) {
  Group& group = *progress.group;
  const std::size_t count = group.open.size();
  for (std::size_t tried = 0; tried < count; ++tried) {
    const std::size_t at = (group.turn + tried) % count;
    Client& client = *group.open[at];
    if (client.fits(size_bytes) && eligible(client, *progress.partition, suspect)) {
      group.turn = at + 1;
      return &client;
    }
  }
  close_short(progress, size_bytes, suspect);
  return nullptr;
}

bool Dispatcher::Impl::eligible(const Client& client, const Partition& partition,
                                bool suspect) const {
  return client.takes(partition.spec.index) &&
         (!suspect || client.suspects < options_.suspects_per_client);
}

// Who could take the event but for its size is closed until there is room for it, or it is over:
// else each partition of the group would read and find none, at every ack again, and small events
// would keep a large one waiting for ever.
void Dispatcher::Impl::close_short(Progress& progress, std::uint32_t size_bytes, bool suspect) {
  progress.short_bytes[suspect ? 1 : 0] = size_bytes;
  std::vector<Client*>& all = progress.group->open;
  for (std::size_t at = all.size(); at-- > 0;) {
    Client& client = *all[at];
    if (eligible(client, *progress.partition, suspect)) {
      client.short_of = &progress;
      client.short_suspect = suspect;
      refresh_open(client);
    }
  }
}

// Bytes of the event that it was closed for; else those of any.
std::uint32_t Dispatcher::Impl::room_wanted(const Client& client) {
  const std::uint32_t wanted =
      client.short_of == nullptr ? 0 : client.short_of->short_bytes[client.short_suspect ? 1 : 0];
  return std::max(wanted, 1U);
}

// A turn of the progress is over, before which clients were closed for events of `before` bytes.
// Another one may have taken those, or they are over: who is still closed waits for what is next,
// or for nothing. Events of one size cost nothing here. `kept`: it could not look at them yet.
void Dispatcher::Impl::open_short(Progress& progress, const ShortBytes& before, bool kept) {
  for (std::size_t i = 0; kept && i < before.size(); ++i) {
    if (progress.short_bytes[i] == 0) {
      progress.short_bytes[i] = before[i];
    }
  }
  if (before[0] <= progress.short_bytes[0] && before[1] <= progress.short_bytes[1]) {
    return;
  }
  bool opened = false;
  for (Client* client : progress.group->clients) {
    if (client->short_of != &progress) {
      continue;
    }
    if (progress.short_bytes[client->short_suspect ? 1 : 0] == 0) {
      client->short_of = nullptr;
    }
    const bool was_open = client->open_at != kNoSlot;
    refresh_open(*client);
    opened = opened || (!was_open && client->open_at != kNoSlot);
  }
  if (opened) {
    unpark(*progress.group);
  }
}

// What was next of it may be next no more, and no turn of it comes while nobody is open.
void Dispatcher::Impl::forget_short(Progress& progress) {
  open_short(progress, std::exchange(progress.short_bytes, ShortBytes{}), false);
}

std::uint32_t Dispatcher::Impl::credit_events(const Group& group, std::uint32_t at_most) const {
  std::uint32_t sum = 0;
  for (const Client* client : group.open) {
    sum += std::min({client->demand, client->window_events - client->held, at_most - sum});
    if (sum >= at_most) {
      break;
    }
  }
  return sum;
}

std::string_view Dispatcher::Impl::holder_name(ClientNumber number) const {
  if (const Client* client = find_client(number); client != nullptr) {
    return client->spec.client_id;
  }
  const auto former = former_.find(number);
  return former == former_.end() ? std::string_view{} : std::string_view(former->second);
}

}  // namespace ackline::delivery
