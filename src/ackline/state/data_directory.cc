#include "ackline/state/data_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ackline/base/ascii.h"
#include "ackline/base/base64.h"
#include "ackline/base/bytes.h"

namespace ackline::state {
namespace {

constexpr std::size_t kSaltBytes = 3;
constexpr std::uint32_t kSaltMask = (1U << 20U) - 1;
constexpr std::size_t kEpochBytes = 4;
constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kTokenMinChars = 16;

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(byte));
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return std::nullopt;
  }
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    out.push_back(static_cast<char>(high * 16 + low));
  }
  return out;
}

// One line, for people to look at: name, hexadecimal bytes, checksum.
std::string line_of(std::string_view name, std::string_view bytes) {
  return fmt::format("{} {} {:016x}\n", name, to_hex(bytes),
                     checksum64(as_bytes(bytes), checksum64(as_bytes(name))));
}

// A small file is its line twice: one of them may rot.
std::string lines_of(std::string_view name, std::string_view bytes) {
  const std::string line = line_of(name, bytes);
  return line + line;
}

std::string little_endian(std::uint32_t value, std::size_t count) {
  std::string out;
  ByteWriter(out).u32(value);
  out.resize(count);
  return out;
}

std::uint32_t number_of(std::string_view bytes) {
  std::string padded(bytes);
  padded.resize(sizeof(std::uint32_t));
  return ByteReader(as_bytes(padded)).u32();
}

// RFC 4648, section 5, without padding: fits into a header and a URL as it is.
std::string base64url(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  std::erase(out, '=');
  return out;
}

std::unexpected<Error> damaged(const std::string& path) {
  return fail(ErrorCode::kCorrupt, fmt::format("{} is damaged or missing", path),
              "Restore it from a backup; without it, move the whole data directory away.");
}

std::optional<std::string> bytes_of_line(std::string_view name, std::string_view line,
                                         std::size_t count) {
  const std::string_view head = line.substr(0, std::min(line.size(), name.size() + 1));
  const std::size_t space = line.find(' ', head.size());
  if (head != fmt::format("{} ", name) || space == std::string_view::npos) return std::nullopt;
  auto bytes = from_hex(line.substr(head.size(), space - head.size()));
  if (!bytes || bytes->size() != count || line_of(name, *bytes) != line) return std::nullopt;
  return bytes;
}

// The bytes of the first line that is whole. The two are of one length, whatever rotted.
std::optional<std::string> bytes_of(std::string_view name, std::string_view lines,
                                    std::size_t count) {
  const std::size_t length = line_of(name, std::string(count, '\0')).size();
  auto bytes = bytes_of_line(name, lines.substr(0, length), count);
  if (!bytes && lines.size() > length) bytes = bytes_of_line(name, lines.substr(length), count);
  return bytes;
}

}  // namespace

DataDirectory::DataDirectory(io::FileSystem& fs, std::string path, DataDirectoryOptions options)
    : fs_(&fs), path_(std::move(path)), options_(std::move(options)) {}

std::string DataDirectory::below(std::string_view name) const {
  return io::join(path_, name);
}

std::string DataDirectory::random_bytes(std::size_t count) const {
  std::string out;
  while (out.size() < count) {
    ByteWriter(out).u64(options_.entropy());
  }
  out.resize(count);
  return out;
}

Result<DataDirectory> DataDirectory::open(io::FileSystem& fs, std::string path,
                                          DataDirectoryOptions options) {
  DataDirectory directory(fs, std::move(path), std::move(options));
  if (const Result<void> made = fs.make_directories(directory.path_); !made) {
    return fail(made);
  }
  Result<std::unique_ptr<io::FileLock>> lock = fs.lock(directory.below(kLockName));
  if (!lock) {
    return fail(lock);
  }
  directory.lock_ = std::move(*lock);
  const Result<bool> complete = directory.check_format();
  if (!complete) {
    return fail(complete);
  }
  const Result<std::string> salt = directory.load_or_make(kSaltName, *complete, kSaltBytes, [&] {
    return little_endian(number_of(directory.random_bytes(kEpochBytes)) & kSaltMask, kSaltBytes);
  });
  const Result<std::string> key =
      salt ? directory.load_or_make(kIdKeyName, *complete, directory.id_key_.size(),
                                    [&] { return directory.random_bytes(16); })
           : salt;
  const Result<std::string> epoch =
      key ? directory.load_or_make(kEpochName, *complete, kEpochBytes,
                                   [] { return little_endian(0, kEpochBytes); })
          : key;
  if (!epoch) {
    return fail(epoch);
  }
  directory.salt_ = number_of(*salt) & kSaltMask;
  std::ranges::copy(as_bytes(*key), directory.id_key_.begin());
  directory.epoch_ = Epoch(number_of(*epoch));
  if (!*complete) {
    // Last, so that a directory with a format has everything else too.
    const Result<void> written = io::write_file_atomic(
        fs, directory.below(kFormatName), lines_of(kFormatName, little_endian(kDataFormat, 4)));
    if (!written) {
      return fail(written);
    }
  }
  return directory;
}

Result<bool> DataDirectory::check_format() {
  const std::string path = below(kFormatName);
  const Result<std::string> text = io::read_file(*fs_, path);
  if (!text && text.error().code != ErrorCode::kNotFound) {
    return fail(text);
  }
  if (!text) {
    for (const std::string_view name : {kMetaName, kOffsetsName, kLogName, kJournalName}) {
      const Result<bool> there = fs_->exists(below(name));
      if (!there) {
        return fail(there);
      }
      if (*there) {
        return fail(
            ErrorCode::kCorrupt,
            fmt::format("{} holds data ({}) but no readable '{}' file", path_, name, kFormatName),
            "Name the right data.path, or restore the file from a backup.");
      }
    }
    return false;
  }
  const auto bytes = bytes_of(kFormatName, *text, 4);
  if (!bytes) {
    return damaged(path);
  }
  note_worn(kFormatName, *text, *bytes);
  if (const std::uint32_t format = number_of(*bytes); format != kDataFormat) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} has data format {}; this build reads and writes format {}", path_,
                            format, kDataFormat),
                "Use the version of Ackline that wrote it.");
  }
  return true;
}

Result<std::string> DataDirectory::load_or_make(std::string_view name, bool must_exist,
                                                std::size_t count,
                                                const std::function<std::string()>& make) {
  const std::string path = below(name);
  const Result<std::string> text = io::read_file(*fs_, path);
  if (text) {
    auto bytes = bytes_of(name, *text, count);
    if (!bytes) return damaged(path);
    note_worn(name, *text, *bytes);
    return std::move(*bytes);
  }
  if (text.error().code != ErrorCode::kNotFound) {
    return fail(text);
  }
  if (must_exist) {
    return damaged(path);
  }
  std::string bytes = make();
  const Result<void> written = io::write_file_atomic(*fs_, path, lines_of(name, bytes));
  return written ? Result<std::string>(std::move(bytes)) : fail(written);
}

void DataDirectory::note_worn(std::string_view name, std::string_view found,
                              std::string_view bytes) {
  std::string whole = lines_of(name, bytes);
  if (found != whole) worn_.insert_or_assign(name, std::move(whole));
}

Result<Epoch> DataDirectory::next_epoch() {
  if (epoch_.value() == UINT32_MAX) {
    return fail(ErrorCode::kUnavailable, fmt::format("{} was started too often", path_));
  }
  for (const auto& [name, whole] : worn_) {
    if (auto done = io::write_file_atomic(*fs_, below(name), whole); !done) return fail(done);
  }
  worn_.clear();
  const Epoch next = epoch_.next();
  const Result<void> written = io::write_file_atomic(
      *fs_, below(kEpochName), lines_of(kEpochName, little_endian(next.value(), kEpochBytes)));
  if (!written) {
    return fail(written);
  }
  epoch_ = next;
  return next;
}

Result<std::string> DataDirectory::admin_token() {
  Result<std::string> known = read_admin_token();
  if (known || known.error().code != ErrorCode::kNotFound) {
    return known;
  }
  std::string token = base64url(random_bytes(kTokenBytes));
  const Result<void> written = io::write_file_atomic(*fs_, admin_token_path(), token + "\n");
  return written ? Result<std::string>(std::move(token)) : fail(written);
}

Result<std::string> DataDirectory::read_admin_token() const {
  const std::string path = admin_token_path();
  Result<std::string> text = io::read_file(*fs_, path);
  if (!text) {
    return text;
  }
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) {
    text->pop_back();
  }
  // An operator may have put a token of their own there; an empty or torn one lets nobody in.
  const bool printable = std::ranges::all_of(*text, [](char c) { return c > ' ' && c < '\x7f'; });
  if (text->size() < kTokenMinChars || !printable) {
    return fail(
        ErrorCode::kCorrupt,
        fmt::format("{} holds no token of {} or more printable characters", path, kTokenMinChars),
        "Remove the file to get a new one, or write a token into it.");
  }
  return text;
}

}  // namespace ackline::state
