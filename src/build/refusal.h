// SPDX-License-Identifier: Apache-2.0
//
// Within this module a solution is refused by throwing Refusal; Builder::build turns it into a BuildResult. It never
// leaves the module.
#pragma once

#include <string>
#include <utility>

#include "build/builder.h"

namespace ww::build {

struct Refusal {
  Failure failure;
};

[[noreturn]] inline void refuse(Failure::Kind kind, std::string text, size_t errors = 0) {
  throw Refusal{{kind, std::move(text), errors}};
}

}  // namespace ww::build
