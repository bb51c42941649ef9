// Groups: list, describe, change the policy, delete.
#include <array>

#include "ackline/api/handlers.h"
#include "ackline/api/page.h"
#include "ackline/api/words.h"
#include "ackline/event/names.h"

namespace ackline::api {
namespace {

void append_members(JsonWriter& writer, const GroupItem& group) {
  // A sum over some of the partitions is nobody's number (invariant 8).
  const auto told = [&group](auto value) {
    return group.known ? std::optional(value) : std::nullopt;
  };
  writer.field("topic", group.topic)
      .field("group", group.group)
      .field("mode", word_of(kModes, group.mode))
      .field("ordering", word_of(kOrderings, group.ordering))
      .field("maxAttempts", group.max_attempts)
      .field("backoffMs", group.backoff_ms)
      .raw_or_null("filter", group.filter_json)
      .field("deadLetterExpired", group.dead_letter_expired)
      .field("generations", group.generations)
      .field("clients", group.clients)
      .field("lag", told(group.lag))
      .field("pending", told(group.pending))
      .field("inFlight", told(group.in_flight))
      .field("waiting", told(group.waiting))
      .field("deadLetters", told(group.dead_letters))
      .field("gone", told(group.gone));
}

void append_group(JsonWriter& writer, const GroupItem& group) {
  writer.begin_object();
  append_members(writer, group);
  writer.end_object();
}

void check_names(Input& input, const Call& call) {
  input.check(event::check_any_topic_name(call.names[0]));
  input.check(event::check_group_name(call.names[1]));
}

}  // namespace

void list_groups(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 4> kParameters = {"topic", "limit", "max", "after"};
  Input input = call.query(kParameters);
  auto topic = input.optional_topic();
  const PageRequest page = read_page(input, "groups");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().groups(std::move(topic), [page, responder = std::move(call.responder)](
                                           Result<std::vector<GroupItem>> groups) mutable {
    if (!groups) {
      responder.respond(groups.error());
      return;
    }
    std::vector<Keyed> items;
    for (const GroupItem& group : *groups) {
      JsonWriter writer;
      append_group(writer, group);
      items.push_back({join_key({group.topic, group.group}), writer.take()});
    }
    answer_json(responder, render_page("groups", page, std::move(items)));
  });
}

void get_group(const Api& api, Call& call) {
  Input input = call.query({});
  check_names(input, call);
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().group(call.names[0], call.names[1],
                    answer_with<GroupItem>(std::move(call.responder), append_group));
}

void patch_group(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 6> kFields = {
      "mode", "ordering", "maxAttempts", "backoffMs", "filter", "deadLetterExpired"};
  Input input = call.only_body(kFields);
  check_names(input, call);
  PolicyInput policy = read_policy(input);
  // Here null does say something: no filter any more.
  GroupPatch patch;
  patch.topic = call.names[0];
  patch.group = call.names[1];
  patch.mode = policy.mode;
  patch.ordering = policy.ordering;
  patch.max_attempts = policy.max_attempts;
  patch.backoff_ms = std::move(policy.backoff_ms);
  patch.filter_json =
      input.is_null("filter") ? std::optional(std::string()) : std::move(policy.filter_json);
  patch.dead_letter_expired = policy.dead_letter_expired;
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().patch_group(
      std::move(patch),
      answer_with<GroupPatched>(std::move(call.responder),
                                [](JsonWriter& writer, const GroupPatched& done) {
                                  writer.begin_object();
                                  append_members(writer, done.item);
                                  writer.field_or_null("auditId", done.audit_id).end_object();
                                }));
}

void delete_group(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 2> kParameters = {"confirm", "force"};
  Input input = call.query(kParameters);
  check_names(input, call);
  const bool force = input.flag("force").value_or(false);
  confirmed(input, "deleting a group with its progress");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().delete_group(call.names[0], call.names[1], force,
                           answer_removed(std::move(call.responder)));
}

}  // namespace ackline::api
