// SPDX-License-Identifier: Apache-2.0
#include "agent/lanes.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "base/json.h"

namespace ww::agent {
namespace {

/// Work for the calling thread, from the lanes.
class Counter {
 public:
  explicit Counter(int lanes) : lanes_(lanes) {}

  /// On a lane: returns or throws what `work` did on the calling thread.
  template <class Work>
  auto ask(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto answer = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back([&task] { task(); });
    }
    changed_.notify_one();
    return answer.get();
  }

  /// On a lane: its last word.
  void leave(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      lanes_--;
      if (error && !error_) error_ = std::move(error);
    }
    changed_.notify_one();
  }

  /// On the calling thread: until all lanes have left.
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return lanes_ == 0 || !queue_.empty(); });
      if (queue_.empty()) return;
      const auto work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::exception_ptr error() const { return error_; }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  int lanes_;
  std::exception_ptr error_;
};

/// What a lane sees of the one workshop.
class LaneWorkshop : public Workshop {
 public:
  LaneWorkshop(Workshop& workshop, Counter& counter) : workshop_(workshop), counter_(counter) {}

  judge::Admission admit() override {
    return counter_.ask([&] { return workshop_.admit(); });
  }
  Result<std::vector<Json>> capture() override {
    return counter_.ask([&] { return workshop_.capture(); });
  }
  Result<Json> describe() override {
    return counter_.ask([&] { return workshop_.describe(); });
  }
  Built build(const std::filesystem::path& solution) override {
    return counter_.ask([&] { return workshop_.build(solution); });
  }
  Result<verdict::Verdict> judge(const std::filesystem::path& solution, const JudgeRequest& request) override {
    return counter_.ask([&] { return workshop_.judge(solution, request); });
  }
  Status try_module(const std::filesystem::path& folder) override {
    return counter_.ask([&] { return workshop_.try_module(folder); });
  }
  std::vector<sandbox::Mount> shell_mounts() const override { return workshop_.shell_mounts(); }
  std::vector<std::string> shell_environment() const override { return workshop_.shell_environment(); }

 private:
  Workshop& workshop_;
  Counter& counter_;
};

}  // namespace

void run_lanes(int count, Workshop& workshop, const std::function<void(int, Workshop&)>& play) {
  if (count == 1) return play(0, workshop);
  Counter counter(count);
  std::vector<std::jthread> threads;
  for (int lane = 0; lane < count; lane++) {
    threads.emplace_back([&, lane] {
      LaneWorkshop own(workshop, counter);
      std::exception_ptr error;
      try {
        play(lane, own);
      } catch (const Fault&) {
        error = std::current_exception();
      }
      counter.leave(error);
    });
  }
  counter.serve();
  threads.clear();
  if (counter.error()) std::rethrow_exception(counter.error());
}

}  // namespace ww::agent
