// SPDX-License-Identifier: Apache-2.0
//
// What probes aim at: a secret file, a process, listeners, shared memory, variables and descriptors of this process.
// All of it is made for the purpose and goes with the object. One at a time, for it changes this process's environment.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files.h"

namespace ww::cli {

class ProbeGround {
 public:
  /// Throws Fault.
  ProbeGround();
  ProbeGround(const ProbeGround&) = delete;
  ProbeGround& operator=(const ProbeGround&) = delete;
  ~ProbeGround();

  /// New work folder and locked file for the outside, and a victim that lives.
  void renew();

  /// "NAME=value" for probes, `work` and `locked` being paths on their side.
  std::vector<std::string> told(const fs::path& work, const fs::path& locked) const;

  const fs::path& folder() const { return folder_.path(); }
  fs::path work() const { return folder_.path() / "outside"; }
  fs::path shared_work() const { return folder_.path() / "inside"; }  ///< may be written to by programs inside
  fs::path locked_source() const { return folder_.path() / "SKILL.md"; }
  fs::path setuid_program() const { return folder_.path() / "id"; }

 private:
  void make_files();
  void make_listeners();
  void make_memory();
  void start_victim();
  void end_victim();

  TemporaryFolder folder_, home_of_secret_;
  Fd tcp_, abstract_, by_path_, queue_;
  std::string abstract_name_, queue_name_;
  int leaked_ = -1, port_ = 0, segment_ = -1;
  key_t segment_key_ = 0;
  pid_t victim_ = -1;
};

}  // namespace ww::cli
