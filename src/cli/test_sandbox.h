// SPDX-License-Identifier: Apache-2.0
//
// Tries to get out of the sandbox: each probe first without it, where it has to work, then inside, where it must not.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/bounded_child.h"
#include "cli/probe_corpus.h"
#include "cli/probe_ground.h"
#include "sandbox/sandbox.h"

namespace ww::cli {

enum class Wall {
  kHeld,         ///< it works outside and was stopped inside
  kEscaped,      ///< it got out
  kNotProvable,  ///< it does not work on this host outside either: says nothing
  kBroken,       ///< it ended inside in a way that says nothing
};
std::string_view name(Wall wall);
inline bool is_failure(Wall wall) { return wall == Wall::kEscaped || wall == Wall::kBroken; }

struct ProbeResult {
  Probe probe;
  Wall wall = Wall::kBroken;
  std::string note;  ///< how it ended
  double seconds = 0;
};

class ProbeRun {
 public:
  ProbeResult try_out(const Probe& probe);

 private:
  struct Inside {
    sandbox::Ended ended;
    bool got_out = false, stopped = false;
  };
  /// Where the program can be started from; compiled at the first use. Throws Fault.
  fs::path program(const Probe& probe);
  bool works_outside(const Probe& probe, std::string& note);
  sandbox::Spec spec(const Probe& probe);
  Inside run_inside(const Probe& probe);

  ProbeGround ground_;
  std::map<fs::path, fs::path> programs_;
};

}  // namespace ww::cli
