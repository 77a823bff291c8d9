// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C, SIGTERM and the loss of the terminal: the first asks to stop (base/interrupt.h), the second ends the program
// at once.
#pragma once

namespace ww::cli {

/// Installs the handlers; process-wide, once.
void watch_for_interrupt();

}  // namespace ww::cli
