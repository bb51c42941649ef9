// `ackline publish`: lines of a file or of stdin, or sample events, in batches.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <map>
#include <optional>

#include "ackline/base/random.h"
#include "ackline/base/utf8.h"
#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"

namespace ackline::cli {
namespace {

constexpr std::size_t kBatchBytes = 4U << 20U;

// Makes an event of a line: a CloudEvent as it is, other JSON as JSON data, else text data.
class EventMaker {
 public:
  explicit EventMaker(const Args& args)
      : args_(args), prefix_(fmt::format("{:08x}", static_cast<std::uint32_t>(entropy_seed()))) {}

  Result<std::string> from_line(std::string_view line) {
    const std::string format = args_.text("format");
    if (format != "text") {
      const auto json = Json::parse(line);
      if (json && is_event(*json)) return std::string(line);
      if (json) return made(line, "application/json");
      if (format == "json") return fail(json);
    }
    if (!is_utf8(line)) return fail(ErrorCode::kBadUtf8, "a line is not UTF-8");
    return made(quoted(line), "text/plain");
  }
  // Whole events have an id of their own.
  static bool is_event(const Json& json) {
    return json.is_object() && !json["specversion"].is_null();
  }
  std::string sample() { return made(fmt::format("{{\"n\":{}}}", made_), "application/json"); }

 private:
  static std::string quoted(std::string_view text) {
    const std::string object = JsonObject().text("x", text).str();
    return object.substr(5, object.size() - 6);
  }
  std::string made(std::string_view data, std::string_view content_type) {
    JsonObject event;
    event.text("specversion", "1.0")
        .text("id", fmt::format("{}-{}", prefix_, made_++))
        .text("source", args_.text("source"))
        .text("type", args_.text("type"))
        .text("datacontenttype", content_type);
    if (args_.has("subject")) event.text("subject", args_.text("subject"));
    if (args_.has("key")) event.text("partitionkey", args_.text("key"));
    return event.raw("data", data).str();
  }

  const Args& args_;
  std::string prefix_;
  std::int64_t made_ = 0;
};

// Collects events and sends them when a batch is full.
class Publisher {
 public:
  explicit Publisher(Context& context) : context_(context), target_("/events/publish") {
    target_.query("topic", context.args.text("topic"));
    target_.query_if("partition", context.args.text("partition"));
    batch_max_ = static_cast<std::size_t>(context.args.integer("batch"));
  }

  Result<void> add(std::string_view event) {
    if (!body_.empty() && body_.size() + event.size() > kBatchBytes) {
      if (auto done = flush(); !done) return done;
    }
    body_ += body_.empty() ? "[" : ",";
    body_ += event;
    if (++count_ >= batch_max_) return flush();
    return {};
  }

  Result<void> flush() {
    if (count_ == 0) return {};
    const auto answer = context_.api.post(Port::kTraffic, target_, body_ + "]",
                                          "application/cloudevents-batch+json");
    body_.clear();
    const std::size_t sent = std::exchange(count_, 0);
    if (!answer) {
      Error error = answer.error();
      error.detail += fmt::format(" ({} accepted before)", accepted_);
      return std::unexpected(std::move(error));
    }
    if (context_.json) print_json(context_, *answer);
    const auto json = answer->json();
    if (!json) return fail(json);
    for (const Json& result : (*json)["results"].items()) note(result);
    before_ += static_cast<std::int64_t>(sent);
    context_.console.progress(fmt::format("published {}", accepted_));
    return {};
  }

  ExitCode end() {
    context_.console.end_progress();
    if (!context_.json) {
      std::string where;
      for (const auto& [partition, count] : by_partition_) {
        where += fmt::format("{}partition {}: {}", where.empty() ? "" : ", ", partition, count);
      }
      context_.console.out_line(fmt::format("published {} events to {}{}", accepted_,
                                            context_.args.text("topic"),
                                            where.empty() ? "" : " (" + where + ")"));
    }
    return rejected_ == 0 ? ExitCode::kOk : ExitCode::kFailed;
  }
  [[nodiscard]] std::int64_t events() const { return before_ + static_cast<std::int64_t>(count_); }

 private:
  void note(const Json& result) {
    if (result["status"].text() == "accepted") {
      ++accepted_;
      ++by_partition_[result["partition"].integer()];
      return;
    }
    ++rejected_;
    context_.console.err_line(fmt::format("event {} was rejected: {}: {}",
                                          before_ + result["index"].integer() + 1,
                                          result["error"].text(), result["detail"].text()));
  }

  Context& context_;
  Target target_;
  std::size_t batch_max_ = 1;
  std::string body_;
  std::size_t count_ = 0;
  std::int64_t before_ = 0;  // events of earlier batches
  std::int64_t accepted_ = 0;
  std::int64_t rejected_ = 0;
  std::map<std::int64_t, std::int64_t> by_partition_;
};

Result<ExitCode> publish_samples(Context& context, std::int64_t count) {
  EventMaker maker(context.args);
  Publisher publisher(context);
  for (std::int64_t i = 0; i < count; ++i) {
    if (auto done = publisher.add(maker.sample()); !done) return fail(done);
  }
  if (auto done = publisher.flush(); !done) return fail(done);
  return publisher.end();
}

// A JSON array is a batch of events; anything else is read line by line.
Result<ExitCode> publish_stream(Context& context, std::istream& in) {
  EventMaker maker(context.args);
  Publisher publisher(context);
  const std::int64_t most = context.args.has("count") ? context.args.integer("count") : INT64_MAX;
  std::string line;
  if ((in >> std::ws).peek() == '[' && context.args.text("format") != "text") {
    const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (const auto array = Json::parse(all); array && array->is_array()) {
      for (const Json& item : array->items()) {
        if (publisher.events() >= most) break;
        auto event = maker.from_line(item.dump());
        if (!event) return fail(event);
        if (auto done = publisher.add(*event); !done) return fail(done);
      }
      if (auto done = publisher.flush(); !done) return fail(done);
      return publisher.end();
    }
    return fail(ErrorCode::kBadJson, "the input starts with [ and is no JSON array",
                "Pass --format text to take it line by line.");
  }
  while (publisher.events() < most && std::getline(in, line)) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    auto event = maker.from_line(line);
    if (!event) return fail(event);
    if (auto done = publisher.add(*event); !done) return fail(done);
    // What a slow writer sent so far goes out before the next line is waited for.
    if (in.rdbuf()->in_avail() <= 0) {
      if (auto done = publisher.flush(); !done) return fail(done);
    }
  }
  if (auto done = publisher.flush(); !done) return fail(done);
  if (in.bad()) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("the input could not be read on after {} events", publisher.events()));
  }
  return publisher.end();
}

// The value as often as asked for, each time as an event of its own.
Result<ExitCode> publish_value(Context& context) {
  const std::string value = context.args.text("value");
  const std::int64_t count = context.args.has("count") ? context.args.integer("count") : 1;
  if (count > 1 && context.args.text("format") != "text") {
    if (const auto json = Json::parse(value); json && EventMaker::is_event(*json)) {
      return usage(context, "--value is a whole event: with --count its id would be repeated");
    }
  }
  EventMaker maker(context.args);
  Publisher publisher(context);
  for (std::int64_t i = 0; i < count; ++i) {
    auto event = maker.from_line(value);
    if (!event) return fail(event);
    if (auto done = publisher.add(*event); !done) return fail(done);
  }
  if (auto done = publisher.flush(); !done) return fail(done);
  return publisher.end();
}

Result<ExitCode> publish(Context& context) {
  const Args& args = context.args;
  const std::string file = args.text("file");
  if (args.has("value")) {
    if (!file.empty()) return usage(context, "give a file or --value, not both");
    return publish_value(context);
  }
  if (file.empty()) {
    if (args.has("count")) return publish_samples(context, args.integer("count"));
    return usage(context, "name a file or -, or give --value or --count");
  }
  if (file == "-") {
    std::ios::sync_with_stdio(false);
    return publish_stream(context, std::cin);
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return fail(ErrorCode::kNotFound, fmt::format("{} cannot be opened", file),
                "Name a file that is there, or - for stdin.");
  }
  in.peek();
  if (in.bad()) return usage(context, fmt::format("{} is no file that can be read", file));
  in.clear();
  return publish_stream(context, in);
}

}  // namespace

std::vector<CommandSpec> publish_commands() {
  return {{.path = "publish",
           .help = "Publish lines (CloudEvents, JSON or text) or sample events",
           .examples = "ackline publish orders --count 10\n"
                       "  ackline publish orders --value '{\"n\":1}' --key customer-7\n"
                       "  tail -f app.log | ackline publish logs - --type app.line",
           .options = {{.names = "topic", .help = "Name of the topic", .required = true},
                       {.names = "file", .help = "Lines to publish; - is stdin"},
                       {.names = "--value", .help = "An event with this data"},
                       {.names = "--count",
                        .kind = OptionKind::kInteger,
                        .help = "So many sample events or of --value; most lines",
                        .min = 1},
                       {.names = "--key", .help = "partitionkey of the events made here"},
                       {.names = "--partition,-p",
                        .kind = OptionKind::kInteger,
                        .help = "Into this partition"},
                       {.names = "--type",
                        .help = "type of the events made here",
                        .fallback = "ackline.cli.line"},
                       {.names = "--source",
                        .help = "source of the events made here",
                        .fallback = "/ackline/cli"},
                       {.names = "--subject", .help = "subject of the events made here"},
                       {.names = "--format",
                        .help = "How to read a line",
                        .fallback = "auto",
                        .allowed = {"auto", "json", "text"}},
                       {.names = "--batch",
                        .kind = OptionKind::kInteger,
                        .help = "Events in one request",
                        .fallback = "500",
                        .min = 1,
                        .max = 1000}},
           .run = publish}};
}

}  // namespace ackline::cli
