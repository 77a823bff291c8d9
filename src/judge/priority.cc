// SPDX-License-Identifier: Apache-2.0
#include "judge/priority.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"

namespace ww::judge {
namespace {

// Short of the highest (-20): the judge and the kernel's own threads have to come through.
constexpr int kNice = -15;

}  // namespace

bool prefer(pid_t process) {
  if (::setpriority(PRIO_PROCESS, static_cast<id_t>(process), kNice) != 0) return false;
  // Under CONFIG_SCHED_AUTOGROUP a process's own value only counts within its session (man 7 sched).
  const Fd group(::open(("/proc/" + std::to_string(process) + "/autogroup").c_str(), O_WRONLY | O_CLOEXEC));
  const std::string value = std::to_string(kNice);
  if (group.valid()) (void)!::write(group.get(), value.data(), value.size());
  return true;
}

Foremost::Foremost() {
  const sched_param lowest{.sched_priority = ::sched_get_priority_min(SCHED_RR)};
  raised_ = ::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
}

Foremost::~Foremost() {
  const sched_param ordinary{.sched_priority = 0};
  if (raised_) ::sched_setscheduler(0, SCHED_OTHER, &ordinary);
}

}  // namespace ww::judge
