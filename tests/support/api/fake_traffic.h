// `Traffic` that records what it is asked and answers what the test wrote, one turn later.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ackline/api/traffic.h"
#include "tests/support/manual_executor.h"

namespace ackline::api::testing {

// What a test sees of a poll or stream that goes on.
struct AttachmentState {
  bool gone = false;
};

class FakeAttachment final : public Attachment {
 public:
  explicit FakeAttachment(std::shared_ptr<AttachmentState> state) : state_(std::move(state)) {}
  ~FakeAttachment() override { state_->gone = true; }
  FakeAttachment(const FakeAttachment&) = delete;
  FakeAttachment& operator=(const FakeAttachment&) = delete;

 private:
  std::shared_ptr<AttachmentState> state_;
};

struct PollAsked {
  std::string client_id;
  Caller caller;
  std::uint32_t max = 0;
  std::int64_t timeout_ms = 0;
  Done<std::vector<channel::Delivery>> done;
  std::shared_ptr<AttachmentState> state;
};
struct StreamAsked {
  std::string client_id;
  Caller caller;
  channel::PushChannel* channel = nullptr;
  std::shared_ptr<AttachmentState> state;
};

class FakeTraffic final : public Traffic {
 public:
  explicit FakeTraffic(ackline::testing::ManualExecutor& executor) : executor_(executor) {}

  void publish(PublishRequest request, Done<PublishResults> done) override {
    Result<PublishResults> answer = on_publish(request);
    published.push_back(std::move(request));
    later(std::move(done), std::move(answer));
  }
  void subscribe(SubscribeRequest request, Done<Subscribed> done) override {
    Result<Subscribed> answer = on_subscribe(request);
    subscribed.push_back(std::move(request));
    later(std::move(done), std::move(answer));
  }
  void unsubscribe(std::string client_id, std::optional<std::string> topic, Caller /*caller*/,
                   Done<Unsubscribed> done) override {
    Unsubscribed answer{true, {topic.value_or("orders")}};
    unsubscribed.emplace_back(std::move(client_id), std::move(topic));
    later(std::move(done), Result<Unsubscribed>(std::move(answer)));
  }
  std::unique_ptr<Attachment> poll(std::string client_id, Caller caller, std::uint32_t max,
                                   std::int64_t timeout_ms,
                                   Done<std::vector<channel::Delivery>> done) override {
    auto state = std::make_shared<AttachmentState>();
    polls.push_back(
        {std::move(client_id), std::move(caller), max, timeout_ms, std::move(done), state});
    if (on_poll) {
      executor_.post([this, at = polls.size() - 1] { polls[at].done(on_poll()); });
    }
    return std::make_unique<FakeAttachment>(std::move(state));
  }
  std::unique_ptr<Attachment> stream(std::string client_id, Caller caller,
                                     channel::PushChannel& channel, Done<void> opened) override {
    auto state = std::make_shared<AttachmentState>();
    streams.push_back({std::move(client_id), std::move(caller), &channel, state});
    later(std::move(opened), on_stream());
    return std::make_unique<FakeAttachment>(std::move(state));
  }
  void settle(SettleCall call, Done<SettleResults> done) override {
    Result<SettleResults> answer = on_settle(call);
    settled.push_back(std::move(call));
    later(std::move(done), std::move(answer));
  }

  std::function<Result<PublishResults>(const PublishRequest&)> on_publish =
      [](const PublishRequest& request) {
        PublishResults results;
        for (std::size_t i = 0; i < request.events.size(); ++i) {
          results.push_back(
              Published{request.partition.value_or(0), Offset(7 + static_cast<std::int64_t>(i))});
        }
        return results;
      };
  std::function<Result<Subscribed>(const SubscribeRequest&)> on_subscribe =
      [](const SubscribeRequest& request) {
        return Subscribed{.subscription_id = "s-1f0c",
                          .client_id = request.client_id,
                          .topic = request.topic,
                          .group = request.group.value_or("default"),
                          .mode = request.mode.value_or(delivery::Mode::kClustering),
                          .created = true,
                          .start = {{0, Offset(0)}},
                          .instance_url = "http://127.0.0.1:10105",
                          .conflicts = {}};
      };
  std::function<Result<std::vector<channel::Delivery>>()> on_poll;
  std::function<Result<void>()> on_stream = [] { return Result<void>(); };
  std::function<Result<SettleResults>(const SettleCall&)> on_settle = [](const SettleCall& call) {
    return SettleResults(call.delivery_ids.size(), Settled{});
  };

  std::vector<PublishRequest> published;
  std::vector<SubscribeRequest> subscribed;
  std::vector<std::pair<std::string, std::optional<std::string>>> unsubscribed;
  std::vector<PollAsked> polls;
  std::vector<StreamAsked> streams;
  std::vector<SettleCall> settled;

 private:
  template <class T>
  void later(Done<T> done, Result<T> answer) {
    executor_.post([done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
  }
  ackline::testing::ManualExecutor& executor_;
};

}  // namespace ackline::api::testing
