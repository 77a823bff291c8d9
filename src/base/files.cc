// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/fd.h"

namespace ww {
namespace {

void write_all(int fd, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("writing " + path.string());
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

/// An absolute path: a TMPDIR of "." means the folder that we were started in.
fs::path temporary_root() {
  std::error_code code;
  const fs::path root = fs::temp_directory_path(code);
  if (code) {
    throw Fault(Fault::Kind::kSystem,
                "there is no folder for temporary files (" + code.message() + "): set TMPDIR to one, or unset it");
  }
  return fs::absolute(root);
}

Error unreadable(const fs::path& path, int code) { return Error{std::strerror(code), path.string()}; }

}  // namespace

Result<std::string> read_file(const fs::path& path, uint64_t limit_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return unreadable(path, errno);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return unreadable(path, errno);
  if (S_ISDIR(info.st_mode)) return Error{"is a folder, expected a file", path.string()};
  if (!S_ISREG(info.st_mode)) return Error{"is not a regular file", path.string()};
  std::string bytes;
  char block[1 << 16];
  for (;;) {
    const ssize_t count = ::read(fd.get(), block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(path, errno);
    if (count == 0) return bytes;
    bytes.append(block, static_cast<size_t>(count));
    if (bytes.size() > limit_bytes) {
      return Error{"is larger than the limit of " + std::to_string(limit_bytes) + " bytes", path.string()};
    }
  }
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::string aside = path.string() + ".XXXXXX";
  const Fd fd(::mkostemp(aside.data(), O_CLOEXEC));
  if (!fd.valid()) throw_errno("creating " + path.string());
  try {
    write_all(fd.get(), bytes, path);
    if (::fchmod(fd.get(), 0644) != 0 || ::fsync(fd.get()) != 0) throw_errno("writing " + path.string());
    if (::rename(aside.c_str(), path.c_str()) != 0) throw_errno("renaming to " + path.string());
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
}

void make_folders(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) throw_errno("creating folder " + path.string(), code.value());
}

bool is_utf8(std::string_view text) {
  size_t i = 0;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  while (i < text.size()) {
    const unsigned char lead = byte(i);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xc2 && lead < 0xe0 ? 2
                                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; k++) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    if (lead == 0xe0 && byte(i + 1) < 0xa0) return false;
    if (lead == 0xed && byte(i + 1) > 0x9f) return false;
    if (lead == 0xf0 && byte(i + 1) < 0x90) return false;
    if (lead == 0xf4 && byte(i + 1) > 0x8f) return false;
    i += length;
  }
  return true;
}

TemporaryFolder::TemporaryFolder(std::string_view prefix, const fs::path& parent) {
  const fs::path root = parent.empty() ? temporary_root() : parent;
  std::string name = (root / (std::string(prefix) + "-XXXXXX")).string();
  if (!::mkdtemp(name.data())) throw_errno("creating a temporary folder in " + root.string());
  path_ = name;
}

void remove_abandoned(const fs::path& parent, std::string_view prefix) {
  // Nothing that needs a temporary folder takes this long, so whoever made it is gone.
  constexpr std::chrono::hours kAbandoned{1};
  const auto oldest = fs::file_time_type::clock::now() - kAbandoned;
  std::error_code ignored;
  const fs::path root = parent.empty() ? fs::temp_directory_path(ignored) : parent;
  for (const auto& each : fs::directory_iterator(root, ignored)) {
    const std::string name = each.path().filename().string();
    if (!name.starts_with(prefix) || !each.is_directory(ignored) || each.is_symlink(ignored)) continue;
    // Where it is not ours, and we are not root, the removal fails.
    if (each.last_write_time(ignored) < oldest) fs::remove_all(each.path(), ignored);
  }
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

fs::path TemporaryFolder::release() {
  fs::path kept = std::move(path_);
  path_.clear();
  return kept;
}

}  // namespace ww
