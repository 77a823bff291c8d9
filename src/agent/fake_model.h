// SPDX-License-Identifier: Apache-2.0
//
// A model for tests whose replies are made by a function of how many it has given.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "agent/model.h"

namespace ww::agent {

class FakeModel : public Model {
 public:
  explicit FakeModel(std::function<Answer(int turn)> reply) : reply_(std::move(reply)) {}

  std::string name() const override { return "fake"; }
  Answer answer(const std::vector<Message>& history, const std::vector<ToolSpec>&) override {
    seen = history;
    return reply_(turns_++);
  }

  std::vector<Message> seen;  ///< the last history

 private:
  std::function<Answer(int turn)> reply_;
  int turns_ = 0;
};

}  // namespace ww::agent
