// The shipped files that are made from the key declarations.
//
// `conf/ackline.yaml`, `conf/eventmesh.properties` and `docs/configuration.md` are the output of
// these; a test fails when they differ. Pure functions, any thread.
#pragma once

#include <string>

namespace ackline {

// A YAML file with every key, commented out at its default, with its help.
[[nodiscard]] std::string commented_config_yaml();
// The same as EventMesh's `.properties`, and which of EventMesh's own keys do nothing here.
[[nodiscard]] std::string commented_config_properties();
// The reference for users, with a table of every key.
[[nodiscard]] std::string config_reference_markdown();

}  // namespace ackline
