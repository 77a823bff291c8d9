// SPDX-License-Identifier: Apache-2.0
//
// Namespaces and the identity inside them. Functions marked [child] run between fork and exec: no allocation, no
// exceptions, they return 0 or an errno. Internal to sandbox/.
#pragma once

#include <sys/types.h>

#include "sandbox/layers.h"

namespace ww::sandbox {

/// CLONE_NEW* flags for `layers`.
unsigned long namespace_flags(const Layers& layers);

/// fork() into new namespaces, by clone(2) (clone3 is refused by common container filters and is not needed). Returns 0
/// in the child, the pid in the parent, -errno on failure; `pidfd` is close-on-exec.
pid_t fork_into(unsigned long flags, int& pidfd);

/// [parent] Maps the one uid and gid that exist inside into the user namespace of `child`. Returns 0 or an errno.
int map_identity(pid_t child);

/// [child] The uid 65534 in a user namespace that root made, keeping capabilities for the mounts to come.
int enter_identity();

/// [child] New session, and a host name that says nothing.
int leave_session(const Layers& layers);

/// [child] Drops groups, uid (with uid_drop, from root), the bounding set and every capability; sets no_new_privs.
int drop_privileges(const Layers& layers);

/// [child] Empties the effective, permitted and inheritable sets of this thread, and the ambient set.
int drop_capabilities();

}  // namespace ww::sandbox
