// SPDX-License-Identifier: Apache-2.0
#include "build/toolchain.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/child.h"
#include "base/fault.h"
#include "base/files.h"
#include "base/hash.h"

namespace ww::build {
namespace {

constexpr milliseconds kAnswerLimit{10'000};

std::string ask(const fs::path& compiler, const std::string& question) {
  const ChildResult child = run_child({compiler.string(), question}, kAnswerLimit);
  if (child.exit_code != 0 || child.timed_out) {
    throw Fault(Fault::Kind::kMissing,
                "the compiler " + compiler.string() + " does not run (install g++): " + child.errors);
  }
  return child.output.substr(0, child.output.find('\n'));
}

/// Path, size and time of change: as good as a hash of 30 MB, and free.
std::string stamp(const fs::path& path) {
  std::error_code missing;
  const fs::path real = fs::canonical(path, missing);
  struct stat info;
  if (missing || ::stat(real.c_str(), &info) != 0) return path.string() + " missing";
  return fmt::format("{} {} {}.{}", real.string(), info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

/// What -march=native depends on: the first processor, without its present clock.
std::string processor() {
  const Result<std::string> text = read_file("/proc/cpuinfo");
  if (!text.ok()) throw Fault(Fault::Kind::kSystem, text.error().text());
  std::string facts;
  for (size_t start = 0; start < text->size();) {
    const size_t end = std::min(text->find('\n', start), text->size());
    const std::string_view line = std::string_view(*text).substr(start, end - start);
    if (line.empty()) break;
    for (const char* key : {"vendor_id", "cpu family", "model", "stepping", "cache size", "flags"}) {
      if (line.starts_with(key)) facts.append(line).append("\n");
    }
    start = end + 1;
  }
  return facts;
}

}  // namespace

Toolchain find_toolchain(const fs::path& compiler) {
  const std::string front_end = ask(compiler, "-print-prog-name=cc1plus");
  // Where there is none the compiler answers with the name it was asked for.
  const std::string dnnl = ask(compiler, "-print-file-name=libdnnl.so");
  Toolchain toolchain{compiler, {}, fs::path(dnnl).is_absolute()};
  ContentHash hash;
  for (const fs::path& part :
       {compiler, fs::path(front_end), fs::path("/usr/bin/as"), fs::path("/usr/bin/ld"), fs::path(dnnl)}) {
    hash.add(stamp(part));
  }
  toolchain.identity = hash.add(processor()).hex();
  return toolchain;
}

std::vector<std::string> compile_flags() {
  return {"-O3", "-march=native", "-fopenmp", "-std=c++20", "-fPIC", "-pipe", "-I", "include",
          // Enough to see what is wrong; a template error can otherwise be 10 MB long.
          fmt::format("-fmax-errors={}", kErrorLimit), "-ftemplate-backtrace-limit=4", "-fdiagnostics-color=never"};
}

std::vector<std::string> link_flags(bool link_dnnl) {
  // defs, text: what the loader or library_check would refuse later is an error with a file and a name here.
  std::vector<std::string> flags = {"-shared", "-Wl,-z,defs,-z,now,-z,relro,-z,noexecstack,-z,text", "-Wl,--as-needed"};
  if (link_dnnl) flags.push_back("-ldnnl");
  return flags;
}

}  // namespace ww::build
