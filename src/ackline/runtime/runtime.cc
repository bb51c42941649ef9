#include "ackline/runtime/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "ackline/api/router.h"
#include "ackline/base/logging.h"
#include "ackline/base/metric_names.h"
#include "ackline/http/server.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/io/net/event_loop.h"
#include "ackline/io/net/storage_threads.h"
#include "ackline/runtime/node.h"
#include "ackline/runtime/options_from_config.h"
#include "ackline/state/data_directory.h"
#include "ackline/state/store_factory.h"

namespace ackline::runtime {
namespace {

constexpr std::size_t kStorageThreads = 4;

// Waits for something that another thread says once.
class Signal {
 public:
  void raise() {
    const std::scoped_lock lock(mutex_);
    raised_ = true;
    condition_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return raised_; });
  }
  // False after `timeout_ms`.
  bool wait(std::int64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    return condition_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                               [this] { return raised_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool raised_ = false;
};

std::vector<api::ConfigItem> config_items(const Config& config) {
  std::vector<api::ConfigItem> items;
  for (const Config::Entry& entry : config.entries()) {
    items.push_back({std::string(entry.key->name), std::string(entry.shown()),
                     std::string(entry.key->default_value), entry.origin, entry.key->secret,
                     std::string(entry.key->help)});
  }
  return items;
}

}  // namespace

std::string_view version() {
  return "0.1.0";
}

// Members in the order in which they are made; taken down in reverse by `stop` and the destructor.
class Runtime::Impl {
 public:
  explicit Impl(Config from) : config(std::move(from)) {}
  ~Impl() { stop(0); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> start();
  void stop(std::int64_t timeout_ms);

  Config config;
  SystemClock clock;
  MetricRegistry metrics;
  RuntimeAddresses addresses;

 private:
  Result<void> open_data();
  Result<void> boot_node();
  Result<void> listen();
  Result<std::unique_ptr<http::Server>> serve(
      http::ListenerKind kind, std::string_view prefix,
      std::vector<std::unique_ptr<http::RequestHandler>>& handlers);
  void close_server(std::unique_ptr<http::Server>& server, std::int64_t timeout_ms);

  std::unique_ptr<io::FileSystem> fs_;
  std::optional<state::DataDirectory> data_;
  std::string admin_token_;
  std::unique_ptr<delivery::DeliveryIdCodec> ids_;
  std::vector<std::unique_ptr<io::net::EventLoop>> loops_;
  std::unique_ptr<io::net::StorageThreads> storage_;
  state::Stores stores_;
  std::unique_ptr<Node> node_;
  std::vector<std::unique_ptr<http::RequestHandler>> traffic_handlers_;
  std::vector<std::unique_ptr<http::RequestHandler>> admin_handlers_;
  std::unique_ptr<http::Server> traffic_;
  std::unique_ptr<http::Server> admin_;
  bool running_ = false;
};

Result<void> Runtime::Impl::start() {
  if (auto done = check_startable(config); !done) return done;
  if (auto done = open_data(); !done) return done;
  if (auto done = boot_node(); !done) return done;
  if (auto done = listen(); !done) return done;
  metrics.gauge(metric::kBuildInfo, {{"version", version()}})->set(1);
  metrics
      .gauge(metric::kConfigInfo, {{"storage", config.string("storage.type")},
                                   {"meta", config.string("meta.type")},
                                   {"topology", config.string("delivery.topology")}})
      ->set(1);
  return {};
}

Result<void> Runtime::Impl::open_data() {
  fs_ = std::make_unique<io::PosixFileSystem>();
  auto data = state::DataDirectory::open(*fs_, config.string("data.path"), {entropy_seed});
  if (!data) return fail(data);
  data_ = std::move(*data);
  admin_token_ = config.string("admin.security.token");
  if (admin_token_.empty()) {
    auto token = data_->admin_token();
    if (!token) return fail(token);
    admin_token_ = std::move(*token);
  }
  ids_ = std::make_unique<delivery::DeliveryIdCodec>(data_->salt(), data_->id_key());
  return {};
}

Result<void> Runtime::Impl::boot_node() {
  NodeOptions options = node_options(config);
  options.random_seed = entropy_seed();
  if (auto meta = state::meta_is_made(*fs_, *data_); !meta) return fail(meta);
  auto epoch = data_->next_epoch();
  if (!epoch) return fail(epoch);
  options.epoch = *epoch;
  const std::string& told = config.string("http.advertisedAddr");
  const std::string address =
      told.empty() ? fmt::format("{}:{}", config.string("http.host"), config.integer("http.port"))
                   : told;
  options.instance_url = "http://" + address;
  options.instance_id =
      config.string("instance.id").empty() ? address : config.string("instance.id");
  state::StoreOptions stores;
  stores.meta_type = config.string("meta.type");
  stores.meta_path = data_->meta_path();
  stores.offset_path =
      config.string("offset.path").empty() ? data_->offsets_path() : config.string("offset.path");
  stores.delivery_type = config.string("delivery.store");
  stores.delivery_path = data_->deliveries_path();
  auto opened = state::open_stores(*fs_, clock, stores);
  if (!opened) return fail(opened);
  stores_ = std::move(*opened);
  const std::uint32_t shards = shard_count(config, std::thread::hardware_concurrency());
  std::vector<Executor*> executors;
  for (std::uint32_t i = 0; i < shards; ++i) {
    loops_.push_back(std::make_unique<io::net::EventLoop>(clock, fmt::format("shard-{}", i)));
    executors.push_back(loops_.back().get());
  }
  storage_ = std::make_unique<io::net::StorageThreads>(kStorageThreads);
  auto node =
      Node::boot(std::move(options),
                 NodeDependencies{executors, *storage_, *fs_, *stores_.meta, *stores_.subscriptions,
                                  *stores_.offsets, metrics, *ids_, stores_.delivery_kv.get()});
  if (!node) return fail(node);
  node_ = std::move(*node);
  // The threads first: a loop without its thread takes every caller for its own.
  for (auto& loop : loops_) loop->start();
  running_ = true;
  // Nobody is let in before every client is known: it would be told that it is not subscribed.
  auto started = std::make_shared<Signal>();
  node_->start([started] { started->raise(); });
  started->wait();
  return {};
}

Result<std::unique_ptr<http::Server>> Runtime::Impl::serve(
    http::ListenerKind kind, std::string_view prefix,
    std::vector<std::unique_ptr<http::RequestHandler>>& handlers) {
  http::ServerOptions server;
  server.host = config.string(fmt::format("{}.host", prefix));
  server.port = static_cast<std::uint16_t>(config.integer(fmt::format("{}.port", prefix)));
  server.port_key = fmt::format("{}.port", prefix);
  server.listener = kind;
  server.limits = http_limits(config);
  // Who looks after a flooded server still reaches it.
  server.spare_divisor = kind == http::ListenerKind::kAdmin ? 2 : 1;
  server.max_connections = static_cast<std::size_t>(config.integer("limits.connections"));
  std::vector<io::net::EventLoop*> loops;
  std::vector<http::RequestHandler*> plain;
  for (std::uint32_t i = 0; i < loops_.size(); ++i) {
    api::RouterOptions options;
    options.listener = kind;
    options.hosts = http::allowed_hosts(server.host, config.list("http.names"));
    options.admin_token = admin_token_;
    options.limits = event_limits(config);
    options.version = version();
    api::RouterServices services{
        .traffic = node_->traffic(ShardIndex(i)),
        .admin = node_->admin(ShardIndex(i)),
        .executor = *loops_[i],
        .metrics = metrics,
        .refresh_gauges =
            [this, loop = loops_[i].get()](Task done) {
              auto shared = std::make_shared<Task>(std::move(done));
              node_->refresh_gauges([loop, shared] { loop->post([shared] { (*shared)(); }); });
            },
        .config = [this] { return config_items(config); }};
    handlers.push_back(api::make_router(std::move(options), std::move(services)));
    loops.push_back(loops_[i].get());
    plain.push_back(handlers.back().get());
  }
  return http::Server::start(std::move(loops), std::move(plain), std::move(server));
}

Result<void> Runtime::Impl::listen() {
  auto traffic = serve(http::ListenerKind::kTraffic, "http", traffic_handlers_);
  if (!traffic) return fail(traffic);
  traffic_ = std::move(*traffic);
  auto admin = serve(http::ListenerKind::kAdmin, "admin", admin_handlers_);
  if (!admin) return fail(admin);
  admin_ = std::move(*admin);
  addresses.http = traffic_->address();
  addresses.admin = admin_->address();
  if (config.integer("http.port") == 0 && config.string("http.advertisedAddr").empty()) {
    // Clients are told the port that was found free.
    node_->set_instance(addresses.http, config.string("instance.id").empty());
  }
  return {};
}

void Runtime::Impl::close_server(std::unique_ptr<http::Server>& server, std::int64_t timeout_ms) {
  if (!server) return;
  if (running_ && timeout_ms > 0) {
    auto drained = std::make_shared<Signal>();
    server->drain([drained] { drained->raise(); });
    static_cast<void>(drained->wait(timeout_ms));
  }
  server->close_all();
  server.reset();
}

void Runtime::Impl::stop(std::int64_t timeout_ms) {
  const MonoMs until = clock.mono().plus(timeout_ms);
  const auto left = [&] { return std::max<std::int64_t>(0, until.value() - clock.mono().value()); };
  if (running_) {
    node_->set_draining(true);
    // Who still has something in flight may settle it; nothing new is offered meanwhile.
    auto settled = std::make_shared<Signal>();
    node_->when_settled(MonoMs(until.value() - std::min<std::int64_t>(timeout_ms, 2000)),
                        [settled] { settled->raise(); });
    static_cast<void>(settled->wait(timeout_ms));
    close_server(traffic_, std::min<std::int64_t>(left(), 1000));
    close_server(admin_, std::min<std::int64_t>(left(), 1000));
    auto stopped = std::make_shared<Signal>();
    node_->stop([stopped] { stopped->raise(); });
    if (!stopped->wait(std::max<std::int64_t>(left(), 5000))) {
      log_warn("the stop was not clean: the disk was too slow", {});
    }
    running_ = false;
  }
  traffic_.reset();
  admin_.reset();
  // The loops end first, so that nothing new is asked of the storage threads; those then finish.
  for (auto& loop : loops_) loop->stop();
  for (auto& loop : loops_) loop->join();
  storage_.reset();
  node_.reset();
  if (stores_.subscriptions) static_cast<void>(stores_.subscriptions->close());
  if (stores_.offsets) static_cast<void>(stores_.offsets->close());
  stores_ = {};
  loops_.clear();
}

Runtime::Runtime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Runtime::~Runtime() = default;

Result<std::unique_ptr<Runtime>> Runtime::start(const Config& config) {
  auto impl = std::make_unique<Impl>(config);
  if (auto done = impl->start(); !done) return fail(done);
  return std::unique_ptr<Runtime>(new Runtime(std::move(impl)));
}

const RuntimeAddresses& Runtime::addresses() const {
  return impl_->addresses;
}

void Runtime::stop(std::int64_t timeout_ms) {
  impl_->stop(timeout_ms);
}

}  // namespace ackline::runtime
