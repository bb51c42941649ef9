// A data directory on disk, filled by a real server in this process that is stopped before the
// directory is looked at.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "ackline/base/config.h"
#include "ackline/cli/api_client.h"
#include "ackline/cli/data_examination.h"
#include "ackline/cli/json.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/runtime/runtime.h"
#include "tests/support/kv/temp_directory.h"

namespace ackline::cli {

class StoppedServer : public ::testing::Test {
 protected:
  // A server on the directory, up to `stop_server`.
  void start_server() {
    const auto config =
        Config::load({.definitions = {"data.path=" + path(), "http.port=0", "admin.port=0",
                                      "storage.local.segmentBytes=64KiB"}});
    ASSERT_TRUE(config) << config.error().detail;
    auto started = runtime::Runtime::start(*config);
    ASSERT_TRUE(started) << started.error().detail;
    runtime_ = std::move(*started);
  }
  // With `data_bytes` each, to partition 0 of `orders`.
  void publish(int count, std::size_t data_bytes = 0) {
    ApiClient api = client();
    std::string body;
    for (int i = 0; i < count; ++i) {
      body += body.empty() ? "[" : ",";
      body += JsonObject()
                  .text("specversion", "1.0")
                  .text("id", std::to_string(i))
                  .text("source", "/s")
                  .text("type", "t")
                  .text("data", std::string(data_bytes, 'x'))
                  .str();
    }
    const auto done = api.post(
        Port::kTraffic, Target("/events/publish").query("topic", "orders").query("partition", 0),
        body + "]", "application/cloudevents-batch+json");
    ASSERT_TRUE(done) << done.error().detail;
  }
  ApiClient client() {
    ApiOptions options;
    options.server = "http://" + runtime_->addresses().http;
    options.admin = "http://" + runtime_->addresses().admin;
    options.data_path = path();
    return ApiClient(options);
  }
  Json get(const Target& target, Port port = Port::kAdmin) {
    const auto answer = client().get(port, target);
    EXPECT_TRUE(answer) << answer.error().detail;
    return answer ? answer->json().value_or(Json()) : Json();
  }
  Json post(Port port, std::string_view path, const std::string& body) {
    const auto answer = client().post(port, Target(path), body);
    EXPECT_TRUE(answer) << answer.error().detail;
    return answer ? answer->json().value_or(Json()) : Json();
  }
  void stop_server() {
    runtime_->stop(0);
    runtime_.reset();
  }
  // One bit of the byte `back` before the end of what is not zero.
  void flip(const std::string& file, std::size_t back) {
    auto text = io::read_file(fs_, file);
    ASSERT_TRUE(text) << text.error().detail;
    const std::size_t end = text->find_last_not_of('\0');
    ASSERT_NE(end, std::string::npos);
    ASSERT_GT(end, back);
    (*text)[end - back] = static_cast<char>((*text)[end - back] ^ 1);
    ASSERT_TRUE(io::write_file_atomic(fs_, file, *text));
  }
  // The first file below `directory` whose name ends so.
  std::string find(const std::string& directory, std::string_view suffix) {
    const auto names = fs_.list(directory);
    if (!names) return {};
    for (const std::string& name : *names) {
      const std::string at = io::join(directory, name);
      if (name.ends_with(suffix)) return at;
      if (std::string deeper = find(at, suffix); !deeper.empty()) return deeper;
    }
    return {};
  }
  std::string path() const { return directory_.path() + "/data"; }
  static std::string text_of(const Examination& examination) {
    std::string out;
    for (const Finding& finding : examination.findings) {
      out += std::string(finding_level_name(finding.level)) + " " + finding.where + ": " +
             finding.what + "\n";
    }
    return out;
  }

  io::PosixFileSystem fs_;
  testing::TempDirectory directory_;
  std::unique_ptr<runtime::Runtime> runtime_;
};

}  // namespace ackline::cli
