// SPDX-License-Identifier: Apache-2.0
//
// The reference against its fp64 self on the draw that lies in the arena: what calibrates a tolerance.
#pragma once

#include "judge/reference.h"
#include "judge/tolerance.h"

namespace ww::judge {

/// Requires: expect(workload, true) was the last request of `reference`. Outputs without a truth are left out.
void calibrate_on_draw(const Reference& reference, size_t workload, Tolerance& tolerance);

}  // namespace ww::judge
