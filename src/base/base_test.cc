// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/child.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/message_socket.h"
#include "base/toml.h"

namespace ww {
namespace {

TEST(Hash, MatchesThePublishedVectorForAbc) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, FieldBoundariesCount) {
  EXPECT_NE(ContentHash().add("ab").add("c").hex(), ContentHash().add("a").add("bc").hex());
}

TEST(Files, AWrittenFileReadsBackAndLeavesNothingAside) {
  TemporaryFolder folder("ww-files");
  write_file(folder.path() / "a.txt", "hello");
  EXPECT_EQ(*read_file(folder.path() / "a.txt"), "hello");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(Files, OnlyOldFoldersOfThatNameCountAsAbandoned) {
  TemporaryFolder folder("ww-files");
  for (const char* name : {"mine-old", "mine-new", "other-old"}) {
    make_folders(folder.path() / name);
    write_file(folder.path() / name / "a", "text");
    if (std::string_view(name).ends_with("old"))
      fs::last_write_time(folder.path() / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  remove_abandoned(folder.path(), "mine-");
  EXPECT_FALSE(fs::exists(folder.path() / "mine-old"));
  EXPECT_TRUE(fs::exists(folder.path() / "mine-new/a"));
  EXPECT_TRUE(fs::exists(folder.path() / "other-old/a"));
}

TEST(Files, ReadingRefusesFoldersDevicesAndOversize) {
  TemporaryFolder folder("ww-files");
  EXPECT_THAT(read_file(folder.path()).error().message, testing::HasSubstr("folder"));
  EXPECT_THAT(read_file("/dev/zero").error().message, testing::HasSubstr("not a regular file"));
  write_file(folder.path() / "big", std::string(100, 'x'));
  EXPECT_THAT(read_file(folder.path() / "big", 10).error().message, testing::HasSubstr("limit of 10 bytes"));
}

TEST(Files, Utf8RefusesOverlongSurrogatesAndCutSequences) {
  EXPECT_TRUE(is_utf8("plain, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80"));
  for (const char* bad : {"\xc0\xaf", "\xed\xa0\x80", "\xe2\x82", "\xff", "\xf5\x80\x80\x80"})
    EXPECT_FALSE(is_utf8(bad));
}

TEST(JsonText, NumbersBeyondAnyTypeAreAnErrorAndNoException) {
  EXPECT_THAT(parse_json(R"({"a": 1e999})", "x").error().message, testing::HasSubstr("too large"));
  EXPECT_THAT(parse_json("{\"a\": \"\xff\"}", "x").error().message, testing::HasSubstr("not valid JSON"));
}

TEST(Toml, ErrorsNameTheLine) {
  const auto parsed = parse_toml("a = 1\nb = = 2\n", "task.toml");
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().where, testing::StartsWith("task.toml:2:"));
}

TEST(Toml, TablesAndArraysBecomeJson) {
  const auto parsed = parse_toml("[[w]]\nname = 'x'\nset = { dim = 4, f = 0.5, on = true }\n", "t");
  EXPECT_EQ(parsed->dump(), R"({"w":[{"name":"x","set":{"dim":4,"f":0.5,"on":true}}]})");
}

TEST(MessageSocket, CarriesBytesAndDescriptors) {
  auto [left, right] = MessageSocket::pair();
  Pipe pipe = make_pipe();
  const std::string large(3'000'000, 'y');
  std::thread sender([&, &socket = left] { ASSERT_TRUE(socket.send(large, {pipe.write.get()})); });
  const auto message = right.receive(seconds(5));
  sender.join();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->bytes, large);
  ASSERT_EQ(message->fds.size(), 1u);
  EXPECT_EQ(::write(message->fds[0].get(), "z", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(pipe.read.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'z');
}

/// Ends the process with 0 if `wait` throws the interruption within a second of the request, made 50 ms in.
void expect_interrupted(const std::function<void()>& wait) {
  std::thread asker([] {
    std::this_thread::sleep_for(milliseconds(50));
    request_stop();
  });
  const nanoseconds start = now();
  int status = 1;
  try {
    wait();
  } catch (const Fault& fault) {
    status = fault.kind() == Fault::Kind::kInterrupted && now() - start < seconds(1) ? 0 : 2;
  }
  asker.join();
  std::_Exit(status);
}

// Each in a process of its own: a request to stop is never withdrawn.
TEST(InterruptDeathTest, AWaitForAMessageEndsOnARequestToStop) {
  EXPECT_EXIT(expect_interrupted([] {
                auto [left, right] = MessageSocket::pair();
                (void)right.receive(seconds(20));
              }),
              testing::ExitedWithCode(0), "");
}

TEST(InterruptDeathTest, AWaitForAChildEndsOnARequestToStopAndTheChildIsGone) {
  EXPECT_EXIT(expect_interrupted([] {
                (void)run_child({"sleep", "20"}, seconds(20));
              }),
              testing::ExitedWithCode(0), "");
}

TEST(InterruptDeathTest, ARequestThatCameFirstIsSeenByALaterWait) {
  EXPECT_EXIT(expect_interrupted([] {
                request_stop();
                auto [left, right] = MessageSocket::pair();
                (void)right.receive(seconds(20));
              }),
              testing::ExitedWithCode(0), "");
}

TEST(MessageSocket, SaysWhoSentWhenAsked) {
  auto [left, right] = MessageSocket::pair();
  right.ask_credentials();
  ASSERT_TRUE(left.send("hi"));
  EXPECT_EQ(right.receive(seconds(1))->sender, ::getpid());
}

TEST(MessageSocket, SilenceClosureAndAbsurdLengthsAreErrors) {
  auto [left, right] = MessageSocket::pair();
  EXPECT_EQ(right.receive(milliseconds(5)).error().message, "timeout");
  const uint32_t absurd = 0xfffffff0u;
  ASSERT_EQ(::send(left.fd(), &absurd, sizeof absurd, 0), 4);
  EXPECT_THAT(right.receive(seconds(1)).error().message, testing::HasSubstr("over the limit"));
  left.close();
  EXPECT_EQ(right.receive(seconds(1)).error().message, "closed");
  EXPECT_EQ(right.send("x").error().message, "closed");
}

TEST(Child, ReportsOutputExitCodeSignalAndAbsence) {
  const auto spoken = run_child({"sh", "-c", "echo out; echo err >&2; exit 3"}, seconds(10));
  EXPECT_EQ(spoken.exit_code, 3);
  EXPECT_EQ(spoken.output, "out\n");
  EXPECT_EQ(spoken.errors, "err\n");
  EXPECT_EQ(run_child({"sh", "-c", "kill -9 $$"}, seconds(10)).exit_code, 137);
  EXPECT_EQ(run_child({"/nonexistent/program"}, seconds(10)).exit_code, 127);
  EXPECT_TRUE(run_child({"sleep", "10"}, milliseconds(50)).timed_out);
}

}  // namespace
}  // namespace ww
