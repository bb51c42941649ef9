// The effective configuration: every declared key with its value and where that came from.
//
// Four sources, the stronger first: definitions (`-D key=value`), environment, file, default. The
// caller reads file and environment; nothing here touches the machine. A `Config` is immutable once
// loaded and may be read by any thread.
//
// Loading reports every problem, not only the first: each names the key, its value, what is allowed
// and the place it came from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/config_keys.h"
#include "ackline/base/config_value.h"
#include "ackline/base/result.h"

namespace ackline {

struct ConfigSources {
  // Shown in origins, e.g. "conf/ackline.yaml"; the suffix `.properties` picks that format.
  std::string file_path = {};
  std::optional<std::string> file_text = {};
  // "NAME=value" each, as in environ; others than ACKLINE_ and EVENTMESH_ are ignored.
  std::vector<std::string> environment = {};
  // "key=value" each, from -D; a key may carry the prefix `eventmesh.`. The last one wins.
  std::vector<std::string> definitions = {};
};

struct ConfigReport;

class Config {
 public:
  struct Entry {
    const ConfigKey* key;
    std::string text;    // as written; shown through `shown()`
    std::string origin;  // "flag" | "env NAME" | "file PATH:LINE" | "default"
    ConfigValue value;

    // `text`, or "***" for a secret that is set.
    [[nodiscard]] std::string_view shown() const;
  };

  // Every key at its default.
  Config();
  // The first problem, with the number of further ones, when there is any.
  [[nodiscard]] static Result<Config> load(const ConfigSources& sources);

  // Values. `name` is a declared key (or alias) of that type: anything else is a programming error.
  [[nodiscard]] const std::string& string(std::string_view name) const;  // kString, kEnum
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] std::int64_t duration_ms(std::string_view name) const;
  [[nodiscard]] std::int64_t size_bytes(std::string_view name) const;
  // Of an optional number of any kind; nothing for `none`.
  [[nodiscard]] std::optional<std::int64_t> number_or_none(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& list(std::string_view name) const;
  // True when a source named it, be it with its default value.
  [[nodiscard]] bool is_set(std::string_view name) const;

  // One entry a key, in the order of `config_keys()`.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] const Entry& entry(std::string_view name) const;
  // One sentence for each thing asked for that this build lacks or that looks mistaken, without
  // being an error: for `serve` to say.
  [[nodiscard]] std::span<const std::string> notes() const { return notes_; }

 private:
  friend ConfigReport load_config(const ConfigSources& sources);
  std::vector<Entry> entries_;
  std::vector<std::string> notes_;
};

// Everything that loading found. `config` holds the default wherever there was a problem.
struct ConfigReport {
  Config config;
  std::vector<Error> problems;  // field = the key
};
[[nodiscard]] ConfigReport load_config(const ConfigSources& sources);

// The environment of this process, for ConfigSources.
[[nodiscard]] std::vector<std::string> process_environment();

}  // namespace ackline
