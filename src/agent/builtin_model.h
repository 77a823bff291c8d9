// SPDX-License-Identifier: Apache-2.0
//
// The builtin writer as a model: it submits the writer's candidates one after the other through the agent's tools, has
// the best one tuned over its configs, and finishes. Its replies follow from the history alone.
#pragma once

#include <memory>
#include <vector>

#include "agent/model.h"
#include "writer/writer.h"

namespace ww::agent {

std::unique_ptr<Model> make_builtin_model(std::vector<writer::Candidate> candidates);

}  // namespace ww::agent
