// Every handler by name; `routes.cc` has the table that names their paths.
#pragma once

#include "ackline/api/call.h"

namespace ackline::api {

// publish.cc
void publish(const Api& api, Call& call);
void publish_batch(const Api& api, Call& call);
// subscribe.cc
void subscribe(const Api& api, Call& call);
void unsubscribe(const Api& api, Call& call);
// deliveries.cc
void poll(const Api& api, Call& call);
void stream(const Api& api, Call& call);
// settle.cc
void ack(const Api& api, Call& call);
void nack(const Api& api, Call& call);
void reject(const Api& api, Call& call);
void extend(const Api& api, Call& call);
// topics.cc
void list_topics(const Api& api, Call& call);
void get_topic(const Api& api, Call& call);
void create_topic(const Api& api, Call& call);
void delete_topic(const Api& api, Call& call);
// groups.cc
void list_groups(const Api& api, Call& call);
void get_group(const Api& api, Call& call);
void patch_group(const Api& api, Call& call);
void delete_group(const Api& api, Call& call);
// clients.cc
void list_subscriptions(const Api& api, Call& call);
void list_clients(const Api& api, Call& call);
void reject_client(const Api& api, Call& call);
void list_offsets(const Api& api, Call& call);
// progress.cc
void lag(const Api& api, Call& call);
void holes(const Api& api, Call& call);
// explain.cc
void explain(const Api& api, Call& call);
// reopen.cc
void replay(const Api& api, Call& call);
void reset(const Api& api, Call& call);
// events.cc
void query_events(const Api& api, Call& call);
// dead_letters.cc
void browse_dead_letters(const Api& api, Call& call);
void redrive(const Api& api, Call& call);
void purge_dead_letters(const Api& api, Call& call);
// lanes.cc
void list_lanes(const Api& api, Call& call);
void get_lane(const Api& api, Call& call);
void end_lane(const Api& api, Call& call);
// server_routes.cc
void live(const Api& api, Call& call);
void ready(const Api& api, Call& call);
void metrics(const Api& api, Call& call);
void config(const Api& api, Call& call);
void drain(const Api& api, Call& call);
void undrain(const Api& api, Call& call);
void openapi(const Api& api, Call& call);
// page_routes.cc
void page_html(const Api& api, Call& call);
void page_css(const Api& api, Call& call);
void page_js(const Api& api, Call& call);

}  // namespace ackline::api
