// SPDX-License-Identifier: Apache-2.0
//
// What the sandbox tests share: the attempts program inside and outside, a secret, a shared folder, a victim process.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/child.h"
#include "base/fd.h"
#include "base/files.h"
#include "sandbox/sandbox.h"

namespace ww::sandbox {

/// Skips the test without `layer`; with WW_REQUIRE_SANDBOX=1 that is a failure.
#define WW_NEEDS(layer)                                                                  \
  do {                                                                                   \
    if (!::ww::sandbox::probe().has(layer)) {                                            \
      if (::ww::sandbox::sandbox_is_required()) FAIL() << (layer) << " is missing here"; \
      GTEST_SKIP() << (layer) << " is missing here";                                     \
    }                                                                                    \
  } while (false)

bool sandbox_is_required();

class Playground : public ::testing::Test {
 protected:
  using Words = std::vector<std::string>;

  Playground();

  /// The attempts program at /attempts, the shared folder, writable, at /shared.
  Spec spec(const std::string& attempt, const Words& arguments = {}) const;
  Ended inside(const std::string& attempt, const Words& arguments = {}) const { return run(spec(attempt, arguments)); }
  /// Exit code of the same outside.
  int outside(const std::string& attempt, const Words& arguments = {}) const;

  /// Outside it works, inside it does not.
  void expect_stopped(const std::string& attempt, const Words& arguments = {}) const;
  void expect_stopped(const std::string& attempt, const Words& inside_arguments, const Words& outside_arguments) const;
  /// For what would be harmful, or is impossible, outside too.
  void expect_stopped_inside(const std::string& attempt, const Words& arguments = {}) const;

  std::string secret() const { return (secret_.path() / "secret").string(); }
  const fs::path& shared() const { return shared_.path(); }

 private:
  TemporaryFolder secret_;
  TemporaryFolder shared_;
};

/// A process outside, of the same uid as those inside; killed by the destructor.
class Victim {
 public:
  Victim();
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  std::string pid() const { return std::to_string(pid_); }
  bool alive() const;

 private:
  pid_t pid_ = -1;
};

}  // namespace ww::sandbox
