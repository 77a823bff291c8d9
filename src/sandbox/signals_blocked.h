// SPDX-License-Identifier: Apache-2.0
//
// Blocks all signals of this thread while it lives; what is forked or started meanwhile inherits that. Internal to
// sandbox/.
#pragma once

#include <signal.h>

namespace ww::sandbox {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace ww::sandbox
