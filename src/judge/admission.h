// SPDX-License-Identifier: Apache-2.0
//
// Straw solutions on an opened reference: outputs that no honest kernel would give (zeros, an echo, one precision step
// less, part of a sum ...), held to the same bounds as a solution's. A task on which one passes is weak.
#pragma once

#include <functional>

#include "judge/judge.h"
#include "judge/reference.h"

namespace ww::judge {

/// Fills weak, skipped and, where the reference's own outputs are unusable (not finite), problems. Throws Fault.
void judge_straws(Reference& reference, const task::Contract& contract, Admission& admission,
                  const std::function<void(double)>& on_progress);

}  // namespace ww::judge
