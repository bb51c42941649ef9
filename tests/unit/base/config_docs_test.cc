#include "ackline/base/config_docs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "ackline/base/config.h"

namespace ackline {
namespace {

// Holds the file to `text`; tools/update-config-docs asks for it to be written instead.
void hold(const std::string& path, const std::string& text) {
  const std::string whole = std::string(ACKLINE_SOURCE_DIR) + "/" + path;
  if (std::getenv("ACKLINE_WRITE_CONFIG_DOCS") != nullptr) {
    std::ofstream(whole) << text;
    return;
  }
  std::ostringstream found;
  found << std::ifstream(whole).rdbuf();
  EXPECT_EQ(found.str(), text) << path << " is out of date: run tools/update-config-docs";
}

TEST(ConfigDocs, TheShippedFileIsTheDeclarations) {
  hold("conf/ackline.yaml", commented_config_yaml());
}

TEST(ConfigDocs, TheShippedPropertiesAreTheDeclarations) {
  hold("conf/eventmesh.properties", commented_config_properties());
}

TEST(ConfigDocs, TheReferenceIsTheDeclarations) {
  hold("docs/configuration.md", config_reference_markdown());
}

TEST(ConfigDocs, TheShippedFileLoadsCommentedAndUncommented) {
  std::string text = commented_config_yaml();
  const auto commented = Config::load({.file_path = "a.yaml", .file_text = text});
  ASSERT_TRUE(commented) << commented.error().detail;
  EXPECT_FALSE(commented->is_set("http.port"));

  // Behind the heading, take one "# " off every line: the keys stand at their defaults.
  std::istringstream lines(text.substr(text.find("\n\n")));
  std::string uncommented;
  for (std::string line; std::getline(lines, line);) {
    uncommented += (line.starts_with("# ") ? line.substr(2) : line) + "\n";
  }
  const auto all = Config::load({.file_path = "a.yaml", .file_text = uncommented});
  ASSERT_TRUE(all) << all.error().detail;
  for (const Config::Entry& entry : all->entries()) {
    EXPECT_NE(entry.origin, "default") << entry.key->name;
    EXPECT_EQ(entry.text, entry.key->default_value) << entry.key->name;
  }
  EXPECT_TRUE(all->notes().empty());
}

TEST(ConfigDocs, TheShippedPropertiesLoadCommentedAndUncommented) {
  const std::string text = commented_config_properties();
  const auto commented = Config::load({.file_path = "a.properties", .file_text = text});
  ASSERT_TRUE(commented) << commented.error().detail;
  EXPECT_FALSE(commented->is_set("http.port"));

  std::istringstream lines(text);
  std::string uncommented;
  for (std::string line; std::getline(lines, line);) {
    uncommented += (line.starts_with("#eventmesh.") ? line.substr(1) : line) + "\n";
  }
  const auto all = Config::load({.file_path = "a.properties", .file_text = uncommented});
  ASSERT_TRUE(all) << all.error().detail;
  for (const Config::Entry& entry : all->entries()) {
    const std::string_view by_default = entry.key->default_value;
    EXPECT_EQ(entry.origin == "default", by_default.empty()) << entry.key->name;
    EXPECT_EQ(entry.text, by_default) << entry.key->name;
  }
  EXPECT_TRUE(all->notes().empty());
}

}  // namespace
}  // namespace ackline
