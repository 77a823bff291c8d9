// SPDX-License-Identifier: Apache-2.0
//
// Landlock: what may be opened, from here on and for all descendants. Functions marked [child] may run between fork and
// exec. Internal to sandbox/.
#pragma once

#include <string>
#include <vector>

namespace ww::sandbox {

enum class Rights {
  kRead,       ///< read and execute
  kReadWrite,  ///< and everything else
};

struct LandlockRule {
  std::string path;
  Rights rights;
};

/// The kernel's ABI version; 0 or less where there is no Landlock (-errno).
int landlock_abi();

/// [child] Denies every access to files that no rule grants; from ABI 6 also signals and abstract sockets to processes
/// outside. Rules whose path does not exist are skipped. Returns 0 or an errno. Requires: no_new_privs.
int restrict_files(const std::vector<LandlockRule>& rules, int abi);

}  // namespace ww::sandbox
