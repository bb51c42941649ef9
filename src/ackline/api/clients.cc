// Subscriptions, clients, and the offsets that are exported.
#include <fmt/format.h>

#include <array>

#include "ackline/api/handlers.h"
#include "ackline/api/page.h"
#include "ackline/api/words.h"

namespace ackline::api {
namespace {

constexpr std::array<std::string_view, 4> kListParameters = {"topic", "limit", "max", "after"};

std::string subscription_json(const SubscriptionItem& one) {
  JsonWriter writer;
  writer.begin_object()
      .field("subscriptionId", one.subscription_id)
      .field("clientId", one.client_id)
      .field("topic", one.topic)
      .field("group", one.group)
      .field("mode", word_of(kModes, one.mode));
  writer.key("partitions");
  if (one.partitions.empty()) {
    writer.value(nullptr);  // all
  } else {
    writer.value(one.partitions);
  }
  writer.raw_or_null("filter", one.filter_json)
      .field("instance", one.instance)
      .field("since", one.since)
      .end_object();
  return writer.take();
}

std::string client_json(const ClientItem& one) {
  JsonWriter writer;
  writer.begin_object()
      .field("clientId", one.client_id)
      .field("topic", one.topic)
      .field("group", one.group)
      .field("channel", one.channel.empty() ? std::string_view("none") : one.channel)
      .field("connected", one.connected)
      .field("inFlight", one.in_flight)
      .field("inFlightBytes", one.in_flight_bytes)
      .field("creditEvents", one.credit_events)
      .field("pending", one.pending);
  writer.key("lastSeen");
  if (one.last_seen.value() == 0) {
    writer.value(nullptr);  // not since the start
  } else {
    writer.value(one.last_seen);
  }
  return writer.field_or_null("remote", one.remote).end_object().take();
}

}  // namespace

void list_subscriptions(const Api& api, Call& call) {
  Input input = call.query(kListParameters);
  auto topic = input.optional_topic();
  const PageRequest page = read_page(input, "subscriptions");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().subscriptions(
      std::move(topic), [page, responder = std::move(call.responder)](
                            Result<std::vector<SubscriptionItem>> all) mutable {
        if (!all) {
          responder.respond(all.error());
          return;
        }
        std::vector<Keyed> items;
        for (const SubscriptionItem& one : *all) {
          items.push_back({join_key({one.topic, one.client_id}), subscription_json(one)});
        }
        answer_json(responder, render_page("subscriptions", page, std::move(items)));
      });
}

void list_clients(const Api& api, Call& call) {
  Input input = call.query(kListParameters);
  auto topic = input.optional_topic();
  const PageRequest page = read_page(input, "clients");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().clients(std::move(topic), [page, responder = std::move(call.responder)](
                                            Result<std::vector<ClientItem>> all) mutable {
    if (!all) {
      responder.respond(all.error());
      return;
    }
    std::vector<Keyed> items;
    for (const ClientItem& one : *all) {
      items.push_back({join_key({one.client_id, one.topic}), client_json(one)});
    }
    answer_json(responder, render_page("clients", page, std::move(items)));
  });
}

void reject_client(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 1> kFields = {"clientId"};
  Input input = call.only_body(kFields);
  const std::string client_id = input.client_id();
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().reject_client(
      client_id, answer_with<Removed>(std::move(call.responder),
                                      [client_id](JsonWriter& writer, const Removed& gone) {
                                        writer.begin_object()
                                            .field("clientId", client_id)
                                            .field("removed", gone.removed)
                                            .field_or_null("auditId", gone.audit_id)
                                            .end_object();
                                      }));
}

void list_offsets(const Api& api, Call& call) {
  Input input = call.query(kListParameters);
  std::string topic = input.topic();
  const PageRequest page = read_page(input, "offsets");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().offsets(std::move(topic), [page, responder = std::move(call.responder)](
                                            Result<std::vector<OffsetItem>> all) mutable {
    if (!all) {
      responder.respond(all.error());
      return;
    }
    std::vector<Keyed> items;
    for (const OffsetItem& one : *all) {
      JsonWriter writer;
      writer.begin_object()
          .field("group", one.group)
          .field("partition", one.partition)
          .field("frontier", one.frontier)
          .field("committed", one.frontier.next())
          .field("generation", one.generation)
          .field("writtenTime", one.written_time)
          .end_object();
      items.push_back({join_key({one.group, fmt::format("{:010}", one.partition)}), writer.take()});
    }
    answer_json(responder, render_page("offsets", page, std::move(items)));
  });
}

}  // namespace ackline::api
