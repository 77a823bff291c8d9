// SPDX-License-Identifier: Apache-2.0
#include "agent/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/files.h"
#include "sandbox/sandbox.h"

namespace ww::agent {
namespace {

constexpr size_t kMostFiles = 4000;
constexpr int kDeepest = 16;

/// Below `folder`, through no link. -1 and errno where the kernel finds one.
int open_beneath(int folder, const char* name, int flags, mode_t mode = 0) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how));
}

/// Whoever works in the sandbox may change what the host wrote.
void lend_to_inside(int fd) {
  if (::geteuid() == 0 && ::fchown(fd, sandbox::inside_uid(), sandbox::inside_uid()) != 0) throw_errno("chown");
}

bool is_machines_fault(int code) { return code == ENOSPC || code == EIO || code == EROFS || code == EDQUOT; }

Error refused(const std::string& name, int code) {
  if (is_machines_fault(code)) throw_errno("writing " + name, code);
  if (code == ELOOP || code == EXDEV) return Error{"is a link; links are not followed", name};
  return Error{code == EISDIR ? "is a folder" : std::strerror(code), name};
}

Result<std::string> read_all(const Fd& fd, const std::string& name) {
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) throw_errno("reading " + name);
  if (!S_ISREG(info.st_mode)) return Error{S_ISDIR(info.st_mode) ? "is a folder" : "is no regular file", name};
  if (static_cast<uint64_t>(info.st_size) > Workspace::kFileLimitBytes) {
    return Error{fmt::format("holds {} bytes; a file may hold {}", info.st_size, Workspace::kFileLimitBytes), name};
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("reading " + name);
    if (count == 0) break;  // it was made shorter meanwhile
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

void write_all(const Fd& fd, const std::string& name, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("writing " + name);
    done += static_cast<size_t>(count);
  }
}

/// Names of the regular files under `folder`, `prefix` before each.
void list_files(Fd folder, const std::string& prefix, int depth, std::vector<std::string>& names) {
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(::fdopendir(folder.get()), close);
  if (!stream) return;
  const int fd = folder.release();  // the stream's from here on
  std::vector<std::string> folders;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || names.size() >= kMostFiles) continue;
    if (entry->d_type == DT_REG) names.push_back(prefix + name);
    if (entry->d_type == DT_DIR && depth < kDeepest) folders.push_back(name);
  }
  for (const std::string& name : folders) {
    Fd below(open_beneath(fd, name.c_str(), O_RDONLY | O_DIRECTORY));
    if (below.valid()) list_files(std::move(below), prefix + name + "/", depth + 1, names);
  }
}

}  // namespace

Workspace::Workspace(fs::path folder) : folder_(std::move(folder)) {
  make_folders(folder_);
  root_ = Fd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root_.valid()) throw_errno("opening " + folder_.string());
  lend_to_inside(root_.get());
}

Result<std::string> Workspace::name_inside(const std::string& path) {
  const fs::path name = fs::path(path).lexically_normal();
  const bool inside = !name.empty() && name.is_relative() && name.has_filename() && *name.begin() != ".." &&
                      name != fs::path(".") && path.find('\0') == std::string::npos;
  if (!inside) return Error{"path must name a file inside the workspace, like kernels/solution.cpp", ""};
  return name.string();
}

Fd Workspace::open_file(const std::string& name, int flags) const {
  // O_NONBLOCK: a fifo that the agent made must not hold us.
  return Fd(open_beneath(root_.get(), name.c_str(), flags | O_NONBLOCK, (flags & O_CREAT) != 0 ? 0644 : 0));
}

Fd Workspace::open_folder(const std::string& name, bool make) const {
  Fd folder(::openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const fs::path& part : fs::path(name)) {
    const bool made = make && ::mkdirat(folder.get(), part.c_str(), 0755) == 0;
    Fd next(open_beneath(folder.get(), part.c_str(), O_RDONLY | O_DIRECTORY));
    if (!next.valid()) return next;
    if (made) lend_to_inside(next.get());
    folder = std::move(next);
  }
  return folder;
}

Result<std::string> Workspace::read(const std::string& name) const {
  const Fd fd = open_file(name, O_RDONLY);
  if (!fd.valid()) return refused(name, errno);
  return read_all(fd, name);
}

Status Workspace::write(const std::string& name, const std::string& text) {
  if (text.size() > kFileLimitBytes) return Error{fmt::format("a file may hold {} bytes", kFileLimitBytes), name};
  const fs::path folder = fs::path(name).parent_path();
  if (!folder.empty() && !open_folder(folder.string(), true).valid()) {
    const int code = errno;
    return code == ENOTDIR ? Error{"is a file, not a folder", folder.string()} : refused(folder.string(), code);
  }
  const Fd fd = open_file(name, O_WRONLY | O_CREAT | O_TRUNC);
  if (!fd.valid()) return refused(name, errno);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return Error{"is no regular file", name};
  write_all(fd, (folder_ / name).string(), text);
  lend_to_inside(fd.get());
  note(name);
  return Unit{};
}

Status Workspace::remove(const std::string& name) {
  const fs::path path(name);
  const Fd folder = open_folder(path.parent_path().string(), false);
  if (!folder.valid() || ::unlinkat(folder.get(), path.filename().c_str(), 0) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? Error{"there is no such file", name} : refused(name, errno);
  }
  known_.erase(name);
  return Unit{};
}

std::vector<std::string> Workspace::files() const {
  std::vector<std::string> names;
  list_files(open_folder("", false), "", 0, names);
  std::sort(names.begin(), names.end());
  return names;
}

void Workspace::copy_to(const fs::path& target) const {
  std::error_code code;
  fs::remove_all(target, code);
  make_folders(target);
  for (const std::string& name : files()) {
    const auto text = read(name);
    if (!text) continue;  // a link or too large: the build says what it misses
    make_folders((target / name).parent_path());
    const Fd fd(::open((target / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.valid()) throw_errno("creating " + (target / name).string());
    write_all(fd, (target / name).string(), *text);
  }
}

void Workspace::clear() {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder_, code)) fs::remove_all(entry.path(), code);
  known_.clear();
}

Workspace::State Workspace::state_of(const std::string& name) const {
  struct stat info;
  const Fd fd(open_beneath(root_.get(), name.c_str(), O_PATH));
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return {};
  return {.inode = info.st_ino,
          .size = static_cast<uint64_t>(info.st_size),
          .changed_ns = info.st_ctim.tv_sec * 1'000'000'000LL + info.st_ctim.tv_nsec};
}

void Workspace::note(const std::string& name) { known_[name] = state_of(name); }

Workspace::Changes Workspace::changes() {
  Changes changes;
  std::map<std::string, State> states;
  for (const std::string& name : files()) {
    const State state = state_of(name);
    states[name] = state;
    const auto known = known_.find(name);
    if (known != known_.end() && known->second == state) continue;
    const auto text = read(name);
    if (text && is_utf8(*text)) {
      changes.files[name] = *text;
    } else {
      changes.not_kept.push_back(name);
    }
  }
  for (const auto& [name, state] : known_) {
    if (!states.contains(name)) changes.files[name] = std::nullopt;
  }
  known_ = std::move(states);
  return changes;
}

}  // namespace ww::agent
