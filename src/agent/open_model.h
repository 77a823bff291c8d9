// SPDX-License-Identifier: Apache-2.0
//
// From the text after --model to a model: "builtin", "script:FILE", "openai:NAME" or "anthropic:NAME".
#pragma once

#include <memory>
#include <string>

#include "agent/endpoint.h"
#include "agent/model.h"
#include "agent/workshop.h"

namespace ww::agent {

/// True if open_model knows this form. Looks at the text alone.
bool is_model_name(const std::string& name);

/// `title` heads what the builtin writer writes; `options` and `variables` concern models over HTTP. Error: no such
/// model, a script that cannot be read, an option or a key that will not do, or what the builtin writer cannot express,
/// by the operator's name. Sends nothing.
Result<std::unique_ptr<Model>> open_model(const std::string& name, const std::string& title, Workshop& workshop,
                                          const EndpointOptions& options = {}, const Variables& variables = {});

}  // namespace ww::agent
