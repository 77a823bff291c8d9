// SPDX-License-Identifier: Apache-2.0
#include "build/sources.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/fd.h"
#include "base/files.h"
#include "base/hash.h"
#include "build/refusal.h"

namespace ww::build {
namespace {

constexpr std::string_view kKernels = "kernels";
constexpr size_t kDeepest = 8;
/// What build systems compile by themselves, in small letters.
constexpr std::array<std::string_view, 9> kUnitEndings = {".cpp", ".cc", ".cxx", ".c++", ".cp",
                                                          ".c",   ".cu", ".s",   ".asm"};
constexpr std::array<std::string_view, 8> kTextEndings = {".cpp", ".cc", ".c", ".h", ".hpp", ".inc", ".cu", ".cuh"};

[[noreturn]] void refuse_build(std::string text) { refuse(Failure::Kind::kBuildError, std::move(text)); }

bool is_text(std::string_view name) {
  return std::ranges::any_of(kTextEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool ends_with_any_case(std::string_view name, std::string_view ending) {
  return name.size() >= ending.size() &&
         std::ranges::equal(name.substr(name.size() - ending.size()), ending, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
         });
}

std::string with_plain_line_ends(std::string bytes) {
  size_t kept = 0;
  for (size_t i = 0; i < bytes.size(); i++) {
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') continue;
    bytes[kept++] = bytes[i];
  }
  bytes.resize(kept);
  return bytes;
}

bool is_plain_name(std::string_view name) {
  return is_utf8(name) &&
         std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::vector<std::string> names_in(const Fd& folder, const std::string& where) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.duplicate().release()), ::closedir);
  if (!entries) throw_errno("listing " + where);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

class Collector {
 public:
  explicit Collector(const Limits& limits) : limits_(limits) {}

  void collect(const Fd& folder, const std::string& where, size_t depth) {
    if (depth > kDeepest)
      refuse_build(where + ": folders are nested too deeply (limit " + std::to_string(kDeepest) + ")");
    for (const std::string& name : names_in(folder, where)) {
      if (!is_plain_name(name)) refuse_build(where + ": a file name is not plain UTF-8 text");
      add(folder, name, where + "/" + name, depth);
    }
  }

  std::vector<SourceFile> files;

 private:
  void add(const Fd& folder, const std::string& name, const std::string& path, size_t depth) {
    const Fd fd(::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid()) {
      if (errno == ELOOP) refuse_build(path + ": is a symbolic link; a solution holds only files of its own");
      refuse_build(path + ": " + std::strerror(errno));
    }
    struct stat info;
    if (::fstat(fd.get(), &info) != 0) throw_errno("reading " + path);
    if (S_ISDIR(info.st_mode)) return collect(fd, path, depth + 1);
    if (!S_ISREG(info.st_mode)) refuse_build(path + ": is not a regular file");
    if (files.size() == limits_.files) refuse_build(fmt::format("kernels: more than {} files", limits_.files));
    std::string bytes = read(fd, path);
    files.push_back({path, is_text(name) ? with_plain_line_ends(std::move(bytes)) : std::move(bytes)});
  }

  std::string read(const Fd& fd, const std::string& path) {
    std::string bytes;
    char block[1 << 16];
    while (const ssize_t count = ::read(fd.get(), block, sizeof block)) {
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw_errno("reading " + path);
      bytes.append(block, static_cast<size_t>(count));
      if (bytes.size() > limits_.file_bytes)
        refuse_build(fmt::format("{}: is larger than {} bytes", path, limits_.file_bytes));
    }
    total_ += bytes.size();
    if (total_ > limits_.source_bytes)
      refuse_build(fmt::format("kernels: the files are larger than {} bytes together", limits_.source_bytes));
    return bytes;
  }

  const Limits& limits_;
  uint64_t total_ = 0;
};

/// Links beside kernels/ cannot matter to the build, but a solution is copied and exported as a whole.
void refuse_links_beside(const Fd& folder, const std::string& where) {
  for (const std::string& name : names_in(folder, where)) {
    struct stat info;
    if (::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode)) {
      refuse_build((is_plain_name(name) ? name : std::string("a file")) +
                   ": is a symbolic link; a solution holds only files of its own");
    }
  }
}

Fd open_solution(const fs::path& solution) {
  if (solution.empty()) refuse(Failure::Kind::kBadInput, "no solution named");
  Fd folder(::open(solution.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) return folder;
  const std::string reason =
      errno == ENOTDIR ? "is not a folder; a native solution is a folder that holds kernels/" : std::strerror(errno);
  refuse(Failure::Kind::kBadInput, solution.string() + ": " + reason);
}

}  // namespace

Sources read_sources(const fs::path& solution, const Limits& limits) {
  const Fd folder = open_solution(solution);
  refuse_links_beside(folder, solution.string());
  const Fd kernels(::openat(folder.get(), kKernels.data(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!kernels.valid()) refuse_build("no folder kernels/ in the solution; it holds the .cpp files to compile");
  Collector collector(limits);
  collector.collect(kernels, std::string(kKernels), 1);
  Sources sources{std::move(collector.files), {}};
  std::ranges::sort(sources.files, {}, &SourceFile::name);
  ContentHash hash;
  for (const SourceFile& file : sources.files) hash.add(file.name).add(file.bytes);
  sources.id = hash.hex();
  return sources;
}

bool Sources::is_unit(const SourceFile& file) {
  const bool directly_in_kernels = file.name.find('/', kKernels.size() + 1) == std::string::npos;
  return directly_in_kernels && file.name.ends_with(".cpp");
}

std::vector<std::string> Sources::units() const {
  std::vector<std::string> names;
  for (const SourceFile& file : files) {
    if (is_unit(file)) names.push_back(file.name);
  }
  return names;
}

std::vector<std::string> Sources::left_out() const {
  std::vector<std::string> names;
  for (const SourceFile& file : files) {
    const bool looks_like_source = std::ranges::any_of(
        kUnitEndings, [&](std::string_view ending) { return ends_with_any_case(file.name, ending); });
    if (looks_like_source && !is_unit(file)) names.push_back(file.name);
  }
  return names;
}

}  // namespace ww::build
