// SPDX-License-Identifier: Apache-2.0
//
// From the text after --model to a model: "builtin" or "script:FILE".
#pragma once

#include <memory>
#include <string>

#include "agent/model.h"
#include "agent/workshop.h"

namespace ww::agent {

/// True if open_model knows this form. Looks at the text alone.
bool is_model_name(const std::string& name);

/// `title` heads what the builtin writer writes. Error: no such model, a script that cannot be read, or what the
/// builtin writer cannot express, by the operator's name.
Result<std::unique_ptr<Model>> open_model(const std::string& name, const std::string& title, Workshop& workshop);

}  // namespace ww::agent
