// SPDX-License-Identifier: Apache-2.0
//
// One line per event on stderr, for people. spdlog stays behind this door. Thread-safe.
#pragma once

#include <string_view>

namespace ww::log {

enum class Level { kDebug, kInfo, kWarning, kError, kOff };

void set_level(Level level);
void debug(std::string_view message);
void info(std::string_view message);
void warning(std::string_view message);
void error(std::string_view message);

}  // namespace ww::log
