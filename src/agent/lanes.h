// SPDX-License-Identifier: Apache-2.0
//
// Several episodes of one task at once, each in a thread, around one workshop: the models are asked beside each other,
// the judge is asked by one after the other.
#pragma once

#include <functional>

#include "agent/workshop.h"

namespace ww::agent {

/// Runs `play(lane, workshop)` for lanes 0 to count - 1 in threads of their own and returns once all have ended. What
/// they ask of their workshop is done by `workshop` on the calling thread, one thing at a time: what it starts lives
/// on there. One lane runs on the calling thread itself. The first Fault that came out of a lane is thrown once all
/// have ended.
void run_lanes(int count, Workshop& workshop, const std::function<void(int lane, Workshop& workshop)>& play);

}  // namespace ww::agent
