// From the settings of all sources to one configuration, with every problem on the way.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ackline/base/config.h"
#include "ackline/base/config_peer_keys.h"
#include "ackline/base/config_source.h"
#include "ackline/base/log_text.h"
#include "ackline/base/nearest.h"

// The process's own, from the C library; unistd.h would bring all of POSIX in here.
extern "C" char** environ;

namespace ackline {
namespace {

using config_source::Setting;
using config_source::Settings;

constexpr std::size_t kProblemsMax = 100;
constexpr std::size_t kSuggestionsMax = 10;  // of near names: the search is what costs

std::string_view nearest_key(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ConfigKey& key : config_keys()) {
    names.push_back(key.name);
    if (!key.alias.empty()) names.push_back(key.alias);
  }
  if (const auto exact = nearest_name(name, names); !exact.empty()) return exact;
  // ACK_TIMEOUT-like spellings and forgotten sections: try the last part alone.
  const std::string_view leaf = name.substr(name.find_last_of('.') + 1);
  for (const std::string_view known : names) {
    if (known.substr(known.find_last_of('.') + 1) == leaf) return known;
  }
  return {};
}

std::string absence(const ConfigKey& key, const Setting& setting) {
  if (!key.part.empty()) {
    return fmt::format("{} is set, but this build has no {} ({})", key.name, key.part,
                       setting.origin);
  }
  return fmt::format("{} is '{}', which this build does not have ({})", key.name, setting.text,
                     setting.origin);
}

std::string built_values(const ConfigKey& key) {
  std::string out;
  for (const std::string_view value : key.allowed) {
    if (std::ranges::find(key.absent, value) != key.absent.end()) continue;
    out += (out.empty() ? "" : ", ") + std::string(value);
  }
  return out;
}

class Loader {
 public:
  explicit Loader(ConfigReport& report) : report_(report) {}

  void take(Settings settings, std::vector<Config::Entry>& entries,
            std::vector<std::string>& notes) {
    std::ranges::move(settings.problems, std::back_inserter(report_.problems));
    std::map<std::string_view, const Setting*> of_source;
    for (const Setting& setting : settings.items) {
      // A file of something else altogether: the search for near names must not go on for ever.
      if (report_.problems.size() >= kProblemsMax) return;
      const ConfigKey* key = find_config_key(setting.name);
      if (key == nullptr) {
        unknown(setting, notes);
        continue;
      }
      const auto [first, fresh] = of_source.try_emplace(key->name, &setting);
      if (!fresh && setting.origin.starts_with("file ")) {
        report_.problems.push_back(Error{ErrorCode::kDuplicateKey,
                                         fmt::format("{} is given twice: {} and {}", key->name,
                                                     first->second->origin, setting.origin),
                                         "Keep one of them.", std::string(key->name)});
        continue;
      }
      apply(*key, setting, entries[static_cast<std::size_t>(key - config_keys().data())], notes);
    }
  }

 private:
  void unknown(const Setting& setting, std::vector<std::string>& notes) {
    const std::string name = log_text::name(setting.name);
    // Not where a whole section of the peer's might be a typing error in a key of ours.
    if (const PeerKey* peer = find_peer_key(setting.name);
        peer != nullptr && !(setting.strict && peer->name.ends_with('*'))) {
      without_meaning(*peer, name, setting, notes);
      return;
    }
    std::string detail = fmt::format("there is no key {} ({})", name, setting.origin);
    const std::string_view near =
        suggestions_++ < kSuggestionsMax ? nearest_key(setting.name) : std::string_view();
    if (!setting.strict) {
      notes.push_back(std::move(detail) + "; it is ignored" +
                      (near.empty() ? std::string() : fmt::format(". Did you mean {}?", near)));
      return;
    }
    std::string remedy = near.empty() ? "`ackline config show` lists all keys."
                                      : fmt::format("Did you mean {}?", near);
    report_.problems.push_back(
        Error{ErrorCode::kUnknownField, std::move(detail), std::move(remedy), setting.name});
  }

  // A key of EventMesh that does nothing here.
  void without_meaning(const PeerKey& peer, const std::string& name, const Setting& setting,
                       std::vector<std::string>& notes) {
    const bool asks = !setting.text.empty() && setting.text != "false";
    if (peer.refuse && asks) {
      report_.problems.push_back(
          Error{ErrorCode::kUnsupported,
                fmt::format("{} is a key of EventMesh that cannot be followed here: {} ({})", name,
                            peer.why, setting.origin),
                "Leave it out.", setting.name});
      return;
    }
    notes.push_back(fmt::format("{} is a key of EventMesh without a meaning here: {} ({})", name,
                                peer.why, setting.origin));
  }

  void apply(const ConfigKey& key, const Setting& setting, Config::Entry& entry,
             std::vector<std::string>& notes) {
    if (!setting.strict && setting.text.empty())
      return;  // blank is the default, as EventMesh has it
    auto value = parse_config_value(key, setting.text);
    if (!value) {
      Error error = value.error();
      error.detail += fmt::format(" ({})", setting.origin);
      report_.problems.push_back(std::move(error));
      return;
    }
    const bool absent_value = key.type == ConfigType::kEnum &&
                              std::ranges::find(key.absent, value->text) != key.absent.end();
    const bool asks = setting.text != key.default_value;
    if (asks && (absent_value || !key.part.empty())) {
      if (key.when_absent == WhenAbsent::kRefuse || absent_value) {
        std::string remedy =
            absent_value ? fmt::format("This build has {}.", built_values(key)) : "Leave it out.";
        report_.problems.push_back(Error{ErrorCode::kUnsupported, absence(key, setting),
                                         std::move(remedy), std::string(key.name)});
        return;
      }
      notes.push_back(absence(key, setting) + "; going on without");
    }
    entry.text = setting.text;
    entry.origin = setting.origin;
    entry.value = std::move(*value);
  }

  ConfigReport& report_;
  std::size_t suggestions_ = 0;
};

}  // namespace

ConfigReport load_config(const ConfigSources& sources) {
  ConfigReport report;
  Loader loader(report);
  const auto take = [&](Settings settings) {
    loader.take(std::move(settings), report.config.entries_, report.config.notes_);
  };
  // The weakest first: a later one writes over it.
  if (sources.file_text) {
    const bool properties = sources.file_path.ends_with(".properties");
    take(properties ? config_source::read_properties(sources.file_path, *sources.file_text)
                    : config_source::read_yaml(sources.file_path, *sources.file_text));
  }
  take(config_source::read_environment(sources.environment));
  take(config_source::read_definitions(sources.definitions));
  return report;
}

std::vector<std::string> process_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace ackline
