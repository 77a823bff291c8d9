// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "cli/exit_code.h"

namespace ww::cli {
namespace {

void note_signal(int) {
  if (request_stop()) ::_exit(kExitInterrupted);
}

}  // namespace

void watch_for_interrupt() {
  interrupt_fd();
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup = {};
  // nohup ignores it, and means it.
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

}  // namespace ww::cli
