#include "ackline/io/fs/memory_disk.h"

namespace ackline::io {

std::pair<std::string, std::string> split_path(const std::string& path) {
  return {parent_of(path), path.substr(path.rfind('/') + 1)};
}

}  // namespace ackline::io
