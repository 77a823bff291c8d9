// SPDX-License-Identifier: Apache-2.0
//
// The engine against plain processes of this test: no sandbox, no solution.
#include "judge/timed_call.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "base/fd.h"

namespace ww::judge {
namespace {

constexpr nanoseconds kLimit = seconds(20);

/// A process that runs `serve(go, done)`; as our child, or as one of a child that has gone.
class Side {
 public:
  explicit Side(const std::function<void(int go, int done)>& serve, bool our_child = true)
      : go_(make_eventfd()), done_(make_pipe()) {
    Pipe names = make_pipe();
    const pid_t first = ::fork();
    if (first == 0) {
      const pid_t second = our_child ? 0 : ::fork();
      if (second != 0) ::_exit(0);
      const pid_t own = ::getpid();
      (void)!::write(names.write.get(), &own, sizeof own);
      done_.read.reset();
      serve(go_.get(), done_.write.get());
      ::_exit(3);
    }
    done_.write.reset();
    pid_t pid = 0;
    EXPECT_EQ(::read(names.read.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    if (!our_child) ::waitpid(first, nullptr, 0);
    endpoint_ = {pid, our_child, go_.get(), done_.read.get()};
  }
  ~Side() {
    ::kill(endpoint_.pid, SIGKILL);
    if (endpoint_.our_child) ::waitpid(endpoint_.pid, nullptr, 0);
  }

  CallTimes call(uint64_t sequence, nanoseconds limit = kLimit) {
    return timed_call(
        endpoint_, sequence, [this] { stages_++; }, limit);
  }
  const Endpoint& endpoint() const { return endpoint_; }
  int stages() const { return stages_; }

 private:
  Fd go_;
  Pipe done_;
  Endpoint endpoint_;
  int stages_ = 0;
};

void await_go(int go) {
  uint64_t token;
  (void)!::read(go, &token, sizeof token);
}

void send(int done, DoneRecord record) { (void)!::write(done, &record, sizeof record); }

/// Answers call after call, as it should.
void serve_honestly(int go, int done) {
  for (uint64_t sequence = 1;; sequence++) {
    await_go(go);
    send(done, {sequence, 1234, 5, 0});
  }
}

void answer(int go, int done, const std::vector<DoneRecord>& records) {
  await_go(go);
  for (const auto& record : records) send(done, record);
  ::pause();
}

class Kinship : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OursAndOthers, Kinship, testing::Bool());

TEST_P(Kinship, OneGoReleasesOneCallAndTheProcessIsLeftStopped) {
  Side side(serve_honestly, GetParam());
  for (uint64_t sequence = 1; sequence <= 20; sequence++) {
    const CallTimes call = side.call(sequence);
    ASSERT_EQ(call.end, CallEnd::kDone);
    EXPECT_EQ(call.inner.count(), 1234);
    EXPECT_EQ(call.status, 5);
    EXPECT_GT(call.outer.count(), 0);
    EXPECT_EQ(call.stray_records, 0u);
    EXPECT_EQ(call.cpu_while_stopped.count(), 0);
  }
  EXPECT_GE(side.stages(), 20);
  EXPECT_TRUE(stop(side.endpoint()));
}

TEST_P(Kinship, AnEndBeforeDoneIsSeen) {
  Side side([](int go, int) { await_go(go); }, GetParam());
  EXPECT_EQ(side.call(1).end, CallEnd::kDied);
  EXPECT_EQ(side.call(2).end, CallEnd::kDied);
  EXPECT_FALSE(stop(side.endpoint()));
}

TEST_P(Kinship, ACallOverItsLimitIsATimeoutAndStopped) {
  Side side(
      [](int go, int) {
        await_go(go);
        for (volatile bool ever = true; ever;) {
        }
      },
      GetParam());
  EXPECT_EQ(side.call(1, milliseconds(20)).end, CallEnd::kTimeout);
  EXPECT_TRUE(stop(side.endpoint()));
}

TEST(TimedCall, ARecordOfAnotherCallIsUnexpected) {
  Side side([](int go, int done) { answer(go, done, {{7, 1, 0, 0}}); });
  EXPECT_EQ(side.call(8).end, CallEnd::kUnexpected);
}

TEST(TimedCall, ASecondRecordIsUnexpected) {
  Side side([](int go, int done) {
    await_go(go);
    const DoneRecord records[2] = {{1, 1, 0, 0}, {2, 1, 0, 0}};
    (void)!::write(done, records, sizeof records);
    ::pause();
  });
  EXPECT_EQ(side.call(1).end, CallEnd::kUnexpected);
}

TEST(TimedCall, ATokenThatTheOtherSidePutThereIsTakenOutAndCounted) {
  Side side([](int go, int done) {
    answer(go, done, {{1, 1, 0, 0}});
    ::pause();
  });
  ASSERT_EQ(side.call(1).end, CallEnd::kDone);
  // What a process can write to its own go, somebody who holds the same eventfd can write as well.
  const uint64_t token = 1;
  ASSERT_EQ(::write(side.endpoint().go_fd, &token, sizeof token), ssize_t{sizeof token});
  EXPECT_EQ(side.call(2, milliseconds(20)).stray_records, 1u);
}

TEST(TimedCall, AMalformedRecordIsUnexpected) {
  Side trailing([](int go, int done) { answer(go, done, {{1, 1, 0, 9}}); });
  EXPECT_EQ(trailing.call(1).end, CallEnd::kUnexpected);
  Side partial([](int go, int done) {
    await_go(go);
    (void)!::write(done, "short", 5);
    ::pause();
  });
  EXPECT_EQ(partial.call(1).end, CallEnd::kUnexpected);
}

TEST(TimedCall, ClosingThePipeIsUnexpectedAndDoesNotHang) {
  Side side([](int go, int done) {
    await_go(go);
    ::close(done);
    ::pause();
  });
  EXPECT_EQ(side.call(1).end, CallEnd::kUnexpected);
}

TEST(TimedCall, RecordsSentBeforeTheGoAreCountedAndNotTaken) {
  Pipe sent = make_pipe();
  Side side([&](int go, int done) {
    send(done, {1, 1, 0, 0});
    send(done, {1, 1, 0, 0});
    (void)!::write(sent.write.get(), "x", 1);
    await_go(go);
    send(done, {1, 99, 0, 0});
    ::pause();
  });
  char byte;
  ASSERT_EQ(::read(sent.read.get(), &byte, 1), 1);
  const CallTimes call = side.call(1);
  EXPECT_EQ(call.stray_records, 2u);
  EXPECT_EQ(call.end, CallEnd::kDone);
  EXPECT_EQ(call.inner.count(), 99);
}

TEST(TimedCall, AGoDescriptorFilledByTheOtherSideStillReleasesOneCall) {
  Side side([](int go, int done) {
    const uint64_t most = 0xfffffffffffffffeull;
    (void)!::write(go, &most, sizeof most);
    ::raise(SIGSTOP);
    serve_honestly(go, done);
  });
  siginfo_t stopped{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(side.endpoint().pid), &stopped, WSTOPPED | WNOWAIT), 0);
  EXPECT_EQ(side.call(1).end, CallEnd::kDone);
  EXPECT_EQ(side.call(2).end, CallEnd::kDone);
}

TEST(TimedCall, AProcessThatStopsItselfTimesOut) {
  Side side([](int go, int) {
    await_go(go);
    ::raise(SIGSTOP);
  });
  EXPECT_EQ(side.call(1, milliseconds(20)).end, CallEnd::kTimeout);
}

}  // namespace
}  // namespace ww::judge
