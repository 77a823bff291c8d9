// SPDX-License-Identifier: Apache-2.0
//
// ww-runner: the process that a native solution lives in. It waits for a token, does what the call block says, writes
// one done record, and waits again. From kLoad on its own code and data are the solution's to change, so that nothing
// it says afterwards is more than a claim. Of its own it then uses nothing but the loader, OpenMP and system calls.
#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fault.h"
#include "judge/runner/wire.h"
#include "judge/timed_call.h"
#include "sandbox/confine.h"

namespace ww::judge {
namespace {

using wire::CallBlock;
using wire::Operation;
using wire::Report;

struct Functions {
  int (*forward)(const ww_call*) = nullptr;
  int (*prepare)(const ww_call*) = nullptr;
  uint64_t (*workspace_bytes)(const ww_call*) = nullptr;
  uint64_t (*packed_bytes)(const ww_call*) = nullptr;
};

void say(Report& report, const char* text) {
  std::strncpy(report.text, text, wire::kTextBytes - 1);
  report.text[wire::kTextBytes - 1] = '\0';
}

std::byte* map_arena(int fd, int protection) {
  struct stat facts;
  if (::fstat(fd, &facts) != 0) throw_errno("asking an arena's size");
  void* mapping = ::mmap(nullptr, static_cast<size_t>(facts.st_size), protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (mapping == MAP_FAILED) throw_errno("mapping an arena");
  ::close(fd);
  return static_cast<std::byte*>(mapping);
}

void protect_guards(std::byte* arena, const wire::Guard* guards, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    if (::mprotect(arena + guards[i].offset, guards[i].bytes, PROT_NONE) != 0) throw_errno("setting a guard up");
  }
}

struct Arenas {
  std::byte* read_only;
  std::byte* writable;

  const CallBlock& block() const { return *reinterpret_cast<const CallBlock*>(read_only); }
  Report& report() const { return *reinterpret_cast<Report*>(writable); }
};

Arenas map_arenas() {
  Arenas arenas{map_arena(wire::kReadOnlyFd, PROT_READ), map_arena(wire::kWritableFd, PROT_READ | PROT_WRITE)};
  const CallBlock& block = arenas.block();
  for (int i = 0; i < 2; i++) {
    std::byte* arena = i == 0 ? arenas.read_only : arenas.writable;
    const auto* guards = reinterpret_cast<const wire::Guard*>(arenas.read_only + block.guards[i]);
    protect_guards(arena, guards, block.guard_counts[i]);
    arenas.report().bases[i] = reinterpret_cast<uint64_t>(arena);
  }
  return arenas;
}

/// What this process was started to load: argv.
struct Loadable {
  const char* solution = "";           ///< "" for a twin
  std::vector<const char*> libraries;  ///< what the solution links, by soname
};

int append_path(dl_phdr_info* object, size_t, void* paths) {
  // The program itself has no name, the kernel's own object no path.
  if (object->dlpi_name[0] == '/')
    static_cast<std::vector<std::filesystem::path>*>(paths)->emplace_back(object->dlpi_name);
  return 0;
}

/// Loads what the solution links while we can still be trusted, and lists all that is loaded: these files alone stay
/// readable, so that a solution cannot load what its contract does not allow.
std::vector<std::filesystem::path> loaded_libraries(const Loadable& loadable) {
  for (const char* library : loadable.libraries) ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  std::vector<std::filesystem::path> paths;
  ::dl_iterate_phdr(append_path, &paths);
  return paths;
}

int32_t confine(const Loadable& loadable, Report& report) {
  try {
    // Beside the libraries: what OpenMP reads to count cores.
    std::vector<std::filesystem::path> readable = loaded_libraries(loadable);
    readable.insert(readable.end(), {loadable.solution, "/etc/ld.so.cache", "/sys/devices/system/cpu"});
    const auto isolation =
        sandbox::confine_this_process({.readable = std::move(readable), .denial_fd = wire::kDenialFd});
    report.has_landlock = isolation.has("landlock");
    report.has_seccomp = isolation.has("seccomp");
    return wire::kOk;
  } catch (const Fault& fault) {
    say(report, fault.what());
    return wire::kRefused;
  }
}

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

int32_t load(const char* solution, Report& report, Functions& functions) {
  void* library = ::dlopen(solution, RTLD_NOW | RTLD_LOCAL);
  report.loaded = library != nullptr;
  if (library == nullptr) {
    const char* reason = ::dlerror();
    say(report, reason != nullptr ? reason : "dlopen failed");
    return wire::kRefused;
  }
  const auto* abi = static_cast<const int32_t*>(::dlsym(library, "ww_solution_abi"));
  report.has_abi = abi != nullptr;
  report.abi = abi != nullptr ? *abi : 0;
  look_up(library, "ww_forward", functions.forward);
  look_up(library, "ww_prepare", functions.prepare);
  look_up(library, "ww_workspace_bytes", functions.workspace_bytes);
  look_up(library, "ww_packed_bytes", functions.packed_bytes);
  report.has_forward = functions.forward != nullptr;
  report.has_prepare = functions.prepare != nullptr;
  if (!report.has_abi || report.abi != WW_ABI_VERSION || !report.has_forward) return wire::kRefused;
  int32_t (*config_count)() = nullptr;
  look_up(library, "ww_config_count", config_count);
  report.config_count = config_count != nullptr ? config_count() : 1;
  return wire::kOk;
}

int32_t ask_sizes(Report& report, const Functions& functions, const ww_call& call) {
  report.packed_bytes = functions.packed_bytes != nullptr ? functions.packed_bytes(&call) : 0;
  report.workspace_bytes = functions.workspace_bytes != nullptr ? functions.workspace_bytes(&call) : 0;
  return wire::kOk;
}

int32_t spin(int threads, nanoseconds length) {
  const nanoseconds end = now() + length;
#pragma omp parallel num_threads(threads)
  while (now() < end) {
  }
  return wire::kOk;
}

int32_t perform(const Loadable& loadable, const CallBlock& block, Report& report, Functions& functions) {
  switch (block.operation) {
    case Operation::kEnter:
      return confine(loadable, report);
    case Operation::kLoad:
      return load(loadable.solution, report, functions);
    case Operation::kSizes:
      return ask_sizes(report, functions, block.call);
    case Operation::kPrepare:
      return functions.prepare(&block.call);
    case Operation::kForward:
      return functions.forward(&block.call);
    case Operation::kSpin:
      return spin(block.threads, nanoseconds(block.spin_ns));
  }
  return wire::kRefused;
}

void wait_for_token() {
  uint64_t token = 0;
  ssize_t count;
  do {
    count = ::read(wire::kGoFd, &token, sizeof token);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof token) ::_exit(EXIT_FAILURE);
}

void report_done(const DoneRecord& record) {
  ssize_t count;
  do {
    count = ::write(wire::kDoneFd, &record, sizeof record);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof record) ::_exit(EXIT_FAILURE);
}

[[noreturn]] void serve(const Loadable& loadable) {
  wait_for_token();
  const Arenas arenas = map_arenas();
  Functions functions;
  for (;;) {
    const uint64_t sequence = arenas.block().sequence;
    const nanoseconds start = now();
    const int32_t status = perform(loadable, arenas.block(), arenas.report(), functions);
    const nanoseconds inner = now() - start;
    report_done({sequence, inner.count(), status, 0});
    wait_for_token();
  }
}

}  // namespace
}  // namespace ww::judge

/// ww-runner [SOLUTION [LIBRARY...]]: a twin has none.
int main(int argc, char** argv) {
  try {
    ww::judge::Loadable loadable;
    if (argc > 1) loadable = {argv[1], {argv + 2, argv + argc}};
    ww::judge::serve(loadable);
  } catch (const ww::Fault& fault) {
    // Only before kEnter was answered: the judge reads it as the reason of the exit.
    const std::string_view text = fault.what();
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    return EXIT_FAILURE;
  }
}
