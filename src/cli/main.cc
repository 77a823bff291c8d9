// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "base/fault.h"
#include "base/log.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace {

using namespace ww;

/// A descriptor that we open must not become stdin or stdout because the caller closed them. Reading ends at once, and
/// writing fails.
void occupy_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDONLY);
  if (fd > STDERR_FILENO) ::close(fd);
}

int run(const std::vector<std::string>& arguments) {
  const auto parsed = cli::parse_command_line(arguments);
  if (const auto* said = std::get_if<cli::Said>(&parsed)) {
    if (said->exit_code == cli::kExitPass) {
      cli::print(said->text);
    } else {
      std::fputs(said->text.c_str(), stderr);
    }
    return said->exit_code;
  }
  cli::watch_for_interrupt();
  return std::get<cli::Verb>(parsed)(cli::read_environment());
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  try {
    return run({argv + 1, argv + argc});
  } catch (const ww::Fault& fault) {
    std::fprintf(stderr, "ww: %s\n", fault.what());
    return fault.kind() == ww::Fault::Kind::kInterrupted ? ww::cli::kExitInterrupted : ww::cli::kExitFault;
  } catch (const std::exception& error) {
    // Out of memory, or a library's exception that we did not expect.
    std::fprintf(stderr, "ww: internal error: %s\n", error.what());
    return ww::cli::kExitFault;
  }
}
