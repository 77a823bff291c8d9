// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_ground.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/fault.h"
#include "sandbox/sandbox.h"

namespace ww::cli {
namespace {

constexpr char kSecret[] = "secret_of_the_host is the secret of the host\n";
constexpr int kBacklog = 64;

template <class Address>
Fd listener(int family, Address& address, size_t size) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(size);
  if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    throw_errno("making a listener for probes");
  }
  return fd;
}

std::string home_folder() {
  const passwd* user = ::getpwuid(::geteuid());
  return user ? user->pw_dir : "/root";
}

}  // namespace

ProbeGround::ProbeGround() : folder_("ww-probes"), home_of_secret_("ww-secret") {
  ::setenv("WW_HOST_TOKEN", "token", 1);
  make_files();
  make_listeners();
  make_memory();
}

ProbeGround::~ProbeGround() {
  end_victim();
  if (leaked_ >= 0) ::close(leaked_);
  if (segment_ >= 0) ::shmctl(segment_, IPC_RMID, nullptr);
  if (queue_.valid()) ::mq_unlink(queue_name_.c_str());
  ::shm_unlink(queue_name_.c_str());
  ::unsetenv("WW_HOST_TOKEN");
}

/// Nothing but the sandbox stands between probes and these.
void ProbeGround::make_files() {
  const fs::path secret = home_of_secret_.path() / "secret";
  write_file(secret, kSecret);
  write_file(locked_source(), "locked\n");
  fs::permissions(home_of_secret_.path(), fs::perms(0755));
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::create_directory(shared_work());
  sandbox::lend(shared_work());
  leaked_ = ::open(secret.c_str(), O_RDONLY);  // not close-on-exec
  if (leaked_ < 0) throw_errno("opening " + secret.string());
  std::error_code code;
  fs::copy_file("/usr/bin/id", setuid_program(), code);
  if (!code && ::geteuid() == 0 && ::chmod(setuid_program().c_str(), 04755) != 0)
    throw_errno("making a setuid program");
}

void ProbeGround::make_listeners() {
  sockaddr_in tcp = {};
  tcp.sin_family = AF_INET;
  tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  tcp_ = listener(AF_INET, tcp, sizeof tcp);
  socklen_t size = sizeof tcp;
  if (::getsockname(tcp_.get(), reinterpret_cast<sockaddr*>(&tcp), &size) != 0) throw_errno("finding a port");
  port_ = ntohs(tcp.sin_port);

  abstract_name_ = "ww-probes-" + std::to_string(::getpid());
  sockaddr_un abstract = {};
  abstract.sun_family = AF_UNIX;
  std::memcpy(abstract.sun_path + 1, abstract_name_.data(), abstract_name_.size());
  abstract_ = listener(AF_UNIX, abstract, offsetof(sockaddr_un, sun_path) + 1 + abstract_name_.size());

  const std::string path = (home_of_secret_.path() / "socket").string();
  sockaddr_un by_path = {};
  by_path.sun_family = AF_UNIX;
  std::memcpy(by_path.sun_path, path.data(), path.size());
  by_path_ = listener(AF_UNIX, by_path, sizeof by_path);
  ::chmod(path.c_str(), 0666);
}

/// Where the kernel has no queues or segments, the probes for them cannot be shown to work, and say so.
void ProbeGround::make_memory() {
  queue_name_ = "/ww-probes-" + std::to_string(::getpid());
  queue_ = Fd(::mq_open(queue_name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666, nullptr));
  segment_key_ = static_cast<key_t>(0x77000000 + ::getpid());
  segment_ = ::shmget(segment_key_, 4096, IPC_CREAT | 0666);
  const Fd memory(::shm_open(queue_name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (memory.valid() && ::write(memory.get(), "x", 1) != 1) throw_errno("filling shared memory");
}

void ProbeGround::renew() {
  fs::remove_all(work());
  make_folders(work());
  write_file(work() / "SKILL.md", "locked\n");
  const bool lives = victim_ > 0 && ::waitpid(victim_, nullptr, WNOHANG) == 0;
  if (!lives) start_victim();
}

/// As the user that programs inside are, so that file permissions do not stop them.
void ProbeGround::start_victim() {
  const pid_t parent = ::getpid();
  victim_ = ::fork();
  if (victim_ < 0) throw_errno("starting a process for probes to aim at");
  if (victim_ > 0) return;
  const uid_t uid = sandbox::inside_uid();
  if (uid != ::geteuid() && ::setresuid(uid, uid, uid) != 0) ::_exit(1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::execl("/usr/bin/sleep", "sleep", "3600", nullptr);
  ::_exit(1);
}

void ProbeGround::end_victim() {
  if (victim_ <= 0) return;
  ::kill(victim_, SIGKILL);
  ::waitpid(victim_, nullptr, 0);
}

std::vector<std::string> ProbeGround::told(const fs::path& work, const fs::path& locked) const {
  return {"WW_SECRET=" + (home_of_secret_.path() / "secret").string(),
          "WW_SOCKET=" + (home_of_secret_.path() / "socket").string(),
          "WW_WORK=" + work.string(),
          "WW_LOCKED=" + locked.string(),
          "WW_SETUID=" + setuid_program().string(),
          "WW_HOME_FOLDER=" + home_folder(),
          "WW_VICTIM=" + std::to_string(victim_),
          "WW_PORT=" + std::to_string(port_),
          "WW_ABSTRACT=" + abstract_name_,
          "WW_QUEUE=" + queue_name_,
          "WW_SHM_KEY=" + std::to_string(segment_key_),
          "PATH=/usr/local/bin:/usr/bin:/bin"};
}

}  // namespace ww::cli
