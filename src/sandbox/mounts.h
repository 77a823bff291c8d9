// SPDX-License-Identifier: Apache-2.0
//
// The new root: planned in the parent as a list of steps, carried out in the child between fork and exec (no allocation
// there). Host trees are cloned first and attached afterwards through descriptors, target paths are walked component by
// component without following links: what hostile programs left in a shared folder cannot move a mount elsewhere.
// Internal to sandbox/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/layers.h"
#include "sandbox/sandbox.h"

namespace ww::sandbox {

struct MountStep {
  enum class Kind {
    kFolder,   ///< empty folder in the new root
    kText,     ///< small file holding `source`
    kLink,     ///< symbolic link to `source`
    kBind,     ///< host tree `source`
    kScratch,  ///< tmpfs with options `source`
    kProc,     ///< /proc of the new pid namespace
  };
  Kind kind;
  std::string source;
  std::string target;  ///< inside, absolute
  Access access = Access::kReadOnly;
  bool optional = false;
  bool device = false;  ///< a device node: exempt from nodev
};

/// In the order in which they are carried out. `layers.mount_ns` holds.
std::vector<MountStep> plan_mounts(const Spec& spec, const Layers& layers);

struct MountFailure {
  int step = -1;  ///< index into the plan; -1: making or entering the root itself
  int error = 0;  ///< errno, 0 is success
};

/// [child] `trees` has as many elements as `plan`; scratch space for descriptors.
MountFailure build_root(const std::vector<MountStep>& plan, std::vector<int>& trees);

}  // namespace ww::sandbox
