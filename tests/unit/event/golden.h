// Rows of a golden file: fields parted by tabs, lines that start with # left out.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace ackline::event {

inline std::vector<std::vector<std::string>> golden_rows(const std::string& name) {
  std::ifstream file(std::string(ACKLINE_SOURCE_DIR "/tests/golden/") + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) {
      continue;
    }
    std::vector<std::string> fields;
    std::size_t at = 0;
    while (at <= line.size()) {
      const std::size_t tab = std::min(line.find('\t', at), line.size());
      fields.push_back(line.substr(at, tab - at));
      at = tab + 1;
    }
    rows.push_back(std::move(fields));
  }
  return rows;
}

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

}  // namespace ackline::event
