// SPDX-License-Identifier: Apache-2.0
#include "agent/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/bounded_text.h"
#include "agent/fake_workshop.h"
#include "agent/schema_check.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ToolsTest : public ::testing::Test {
 protected:
  ToolResult call(const std::string& tool, const std::string& arguments) {
    return tools_.call({.id = "c", .tool = tool, .arguments = arguments}, 1);
  }
  std::string text_of(const std::string& tool, const Json& arguments) { return call(tool, arguments.dump()).text; }
  ToolResult bash(const std::string& command) { return call("bash", Json{{"command", command}}.dump()); }
  void put(const std::string& path, const std::string& text) { text_of("write", {{"path", path}, {"text", text}}); }
  fs::path workspace() const { return folder_.path() / "workspace"; }

  TemporaryFolder folder_{"ww-tools-test"};
  FakeWorkshop workshop_;
  Tools tools_{folder_.path() / "workspace", folder_.path() / "attempts", workshop_};
};

TEST_F(ToolsTest, MalformedCallsAreAnsweredAndNotThrown) {
  EXPECT_THAT(call("write", "{\"path\": ").text, HasSubstr("not valid JSON"));
  EXPECT_THAT(call("write", "[]").text, HasSubstr("must be a JSON object"));
  EXPECT_THAT(call("write", R"({"path":"a"})").text, HasSubstr("\"text\" is missing"));
  EXPECT_THAT(call("write", R"({"path":3,"text":"x"})").text, HasSubstr("\"path\" must be text"));
  EXPECT_THAT(call("profile", R"({"config":-1})").text, HasSubstr("from 0 to"));
  EXPECT_THAT(call("profile", R"({"config":1.5})").text, HasSubstr("a whole number"));
  EXPECT_THAT(call("profile", R"({"configs":1})").text, HasSubstr("unknown argument \"configs\""));
  EXPECT_THAT(call("build", R"({"x":1})").text, HasSubstr("this tool takes none"));
  EXPECT_THAT(call("todo", R"({"items":[{"text":"a","state":"late"}]})").text,
              HasSubstr("\"items[0].state\" must be one of \"open\", \"doing\", \"done\""));
  EXPECT_THAT(call("multi_edit", R"({"path":"a","edits":[]})").text, HasSubstr("\"edits\" must not be empty"));
  EXPECT_THAT(call("shell", "{}").text, AllOf(HasSubstr("no tool \"shell\""), HasSubstr("bash")));
}

TEST_F(ToolsTest, ArgumentsThatAreAnObjectWrittenAsTextAreTakenAsMeant) {
  EXPECT_THAT(call("write", Json(R"({"path":"a","text":"x"})").dump()).text, HasSubstr("wrote a"));
}

TEST_F(ToolsTest, PathsStayInTheWorkspace) {
  for (const char* path : {"../x", "/etc/x", "", ".", "a/../../x", "kernels/"}) {
    EXPECT_THAT(text_of("write", {{"path", path}, {"text", "x"}}), HasSubstr("inside the workspace")) << path;
  }
  put("a", "x");
  EXPECT_THAT(text_of("write", {{"path", "a/b"}, {"text", "x"}}), HasSubstr("is a file"));
}

TEST_F(ToolsTest, LinksAreNotFollowed) {
  const fs::path secret = folder_.path() / "secret";
  write_file(secret, "key");
  fs::create_symlink(secret, workspace() / "link");
  fs::create_directory_symlink(folder_.path(), workspace() / "out");
  EXPECT_THAT(text_of("read", {{"path", "link"}}), AllOf(HasSubstr("error"), Not(HasSubstr("key"))));
  EXPECT_THAT(text_of("read", {{"path", "out/secret"}}), AllOf(HasSubstr("error"), Not(HasSubstr("key"))));
  EXPECT_THAT(text_of("write", {{"path", "out/secret"}, {"text", "x"}}), HasSubstr("error"));
  EXPECT_THAT(text_of("edit", {{"path", "link"}, {"old", "key"}, {"new", "x"}}), HasSubstr("error"));
  EXPECT_EQ(*read_file(secret), "key");
  put("kernels/solution.cpp", "speed=2");
  call("profile", "{}");
  EXPECT_TRUE(fs::exists(folder_.path() / "attempts/001/kernels/solution.cpp"));
  EXPECT_FALSE(fs::exists(folder_.path() / "attempts/001/link"));
}

TEST_F(ToolsTest, WhatIsWrittenIsRead) {
  put("kernels/a.cpp", "int x;");
  EXPECT_EQ(text_of("read", {{"path", "kernels/a.cpp"}}), "int x;");
  put("kernels/a.cpp", "");
  EXPECT_THAT(text_of("read", {{"path", "kernels/a.cpp"}}), HasSubstr("error: kernels/a.cpp"));
  put("b", "1\n2\n3\n4");
  EXPECT_EQ(text_of("read", {{"path", "b"}, {"from", 2}, {"lines", 2}}), "2\n3\n");
  EXPECT_EQ(text_of("read", {{"path", "b"}, {"from", 9}}), "");
}

TEST_F(ToolsTest, AnEditNeedsToSayWhichPlaceItMeans) {
  put("a", "one two two");
  EXPECT_THAT(text_of("edit", {{"path", "a"}, {"old", "two"}, {"new", "2"}}), HasSubstr("2 times"));
  EXPECT_THAT(text_of("edit", {{"path", "a"}, {"old", "three"}, {"new", "3"}}), HasSubstr("not in the file"));
  text_of("edit", {{"path", "a"}, {"old", "two"}, {"new", "two two"}, {"all", true}});
  EXPECT_EQ(text_of("read", {{"path", "a"}}), "one two two two two");
}

TEST_F(ToolsTest, SeveralEditsAreMadeTogetherOrNotAtAll) {
  put("a", "one two");
  const Json good = {{"old", "one"}, {"new", "1"}}, bad = {{"old", "none"}, {"new", "x"}};
  EXPECT_THAT(text_of("multi_edit", {{"path", "a"}, {"edits", {good, bad}}}), HasSubstr("edits[1]"));
  EXPECT_EQ(text_of("read", {{"path", "a"}}), "one two");
  text_of("multi_edit", {{"path", "a"}, {"edits", {good, {{"old", "1 two"}, {"new", "12"}}}}});
  EXPECT_EQ(text_of("read", {{"path", "a"}}), "12");
}

TEST_F(ToolsTest, FilesAreFoundByNameAndByContent) {
  put("kernels/a.cpp", "int alpha;\n");
  put("b.cpp", "int beta;\n");
  EXPECT_EQ(text_of("glob", {{"pattern", "**/*.cpp"}}), "b.cpp\nkernels/a.cpp\n");
  EXPECT_EQ(text_of("glob", {{"pattern", "*.cpp"}}), "b.cpp\n");
  EXPECT_THAT(text_of("grep", {{"pattern", "ALPHA"}, {"ignore_case", true}}), HasSubstr("kernels/a.cpp:1:int alpha;"));
  EXPECT_EQ(text_of("grep", {{"pattern", "gamma"}}), "no line matches");
  EXPECT_THAT(text_of("grep", {{"pattern", "("}}), HasSubstr("error: grep"));
}

TEST_F(ToolsTest, TheListIsKept) {
  const Json items = {{{"text", "fuse"}, {"state", "done"}}, {{"text", "tune"}, {"state", "open"}}};
  EXPECT_EQ(text_of("todo", {{"items", items}}), "[x] fuse\n[ ] tune\n");
  EXPECT_EQ(text_of("todo", Json::object()), "[x] fuse\n[ ] tune\n");
  EXPECT_THAT(tools_.situation(), HasSubstr("[ ] tune"));
}

TEST_F(ToolsTest, LongResultsAreCutInTheMiddleWithACount) {
  put("a", std::string(100'000, 'x') + "end");
  EXPECT_THAT(text_of("read", {{"path", "a"}}), AllOf(HasSubstr("70003 characters left out"), HasSubstr("end")));
}

TEST_F(ToolsTest, AVerdictIsShownWithItsSpeedUps) {
  put("kernels/solution.cpp", "speed=2.5");
  const ToolResult result = call("profile", R"({"compile":true})");
  EXPECT_THAT(result.text, HasSubstr("pass  2.50x eager [2.45, 2.55]  2.00x compile [1.96, 2.04]"));
  EXPECT_THAT(tools_.situation(), AllOf(HasSubstr("2.50x eager"), HasSubstr("kernels/solution.cpp")));
}

TEST_F(ToolsTest, TheShellLivesOnBetweenCalls) {
  bash("cd /tmp; export WORD=kept");
  EXPECT_EQ(bash("echo $WORD $PWD").text, "kept /tmp\n");
  EXPECT_THAT(bash("(exit 3)").text, HasSubstr("exit code 3"));
  EXPECT_THAT(bash("exit 3").text, HasSubstr("the shell ended"));
  EXPECT_EQ(bash("echo \"[$WORD]\"; pwd").text, "[]\n/workspace\n");
}

TEST_F(ToolsTest, TheShellReachesNothingButTheWorkspace) {
  write_file(folder_.path() / "secret", "key");
  EXPECT_THAT(bash("cat " + (folder_.path() / "secret").string()).text, HasSubstr("No such file"));
  EXPECT_THAT(bash("ls /sys/class/net /proc/1/root/root; exec 9<>/dev/tcp/127.0.0.1/22").text,
              HasSubstr("(exit code 1)"));
  EXPECT_EQ(bash("cat; echo done").text, "done\n");
}

TEST_F(ToolsTest, ACommandOverItsTimeIsEndedWithTheShell) {
  const ToolResult result = call("bash", R"({"command":"echo before; sleep 60","limit_s":1})");
  EXPECT_THAT(result.text, AllOf(HasSubstr("before"), HasSubstr("ended after 1 s")));
  EXPECT_EQ(bash("echo after").text, "after\n");
}

TEST_F(ToolsTest, WhatTheShellChangesIsInTheEpisodeAndComesBack) {
  put("old", "x");
  put("gone", "x");
  const ToolResult result = bash("mkdir kernels; echo 'int a;' >kernels/a.cpp; rm gone; printf '\\377' >binary");
  const Json data = parse_own_json(result.data);
  EXPECT_EQ(data["files"], (Json{{"gone", nullptr}, {"kernels/a.cpp", "int a;\n"}}));
  EXPECT_EQ(data["not_kept"], Json{"binary"});
  EXPECT_FALSE(parse_own_json(bash("true").data).contains("files"));

  Tools again(folder_.path() / "again", folder_.path() / "attempts", workshop_);
  again.begin_again();
  again.restore({.id = "", .tool = "write", .arguments = R"({"path":"gone","text":"x"})"}, Json::object());
  again.restore({.id = "", .tool = "bash", .arguments = "{}"}, data);
  EXPECT_EQ(*read_file(folder_.path() / "again/kernels/a.cpp"), "int a;\n");
  EXPECT_FALSE(fs::exists(folder_.path() / "again/gone"));
  EXPECT_THAT(again.call({.id = "", .tool = "bash", .arguments = R"({"command":"true"})"}, 2).text,
              HasSubstr("a new shell"));
}

TEST_F(ToolsTest, AToolWritesWhatTheShellWroteAndTheOtherWayRound) {
  bash("echo one >a");
  EXPECT_THAT(text_of("edit", {{"path", "a"}, {"old", "one"}, {"new", "two"}}), HasSubstr("edited"));
  EXPECT_EQ(bash("cat a; echo three >a; cat a").text, "two\nthree\n");
}

TEST_F(ToolsTest, BackgroundJobsAreShownAndEnded) {
  EXPECT_THAT(call("bash_output", R"({"job":1})").text, HasSubstr("no job 1"));
  EXPECT_THAT(call("bash", R"({"command":"echo it\\'s on; exec sleep 60","background":true})").text,
              HasSubstr("job 1 runs"));
  std::string seen;
  for (int i = 0; i < 1000 && seen.find("it's on") == std::string::npos; i++) {
    bash("sleep 0.01");
    seen += call("bash_output", R"({"job":1})").text;
  }
  EXPECT_THAT(seen, AllOf(HasSubstr("it's on"), HasSubstr("(job 1 runs)")));
  EXPECT_EQ(call("bash_output", R"({"job":1})").text, "(job 1 runs)\n");
  call("kill_bash", R"({"job":1})");
  EXPECT_THAT(call("bash_output", R"({"job":1})").text, HasSubstr("ended, exit code killed"));
  put("kernels/solution.cpp", "speed=2");
  EXPECT_THAT(call("profile", "{}").text, HasSubstr("pass"));
}

TEST(BoundedText, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; i++) text += "ä€";
  for (size_t limit = 10; limit < 60; limit++) EXPECT_TRUE(is_utf8(shorten(text, limit))) << limit;
}

TEST(BoundedText, KeepsBothEndsOfAStream) {
  BoundedText text(10);
  for (int i = 0; i < 1000; i++) text.add("0123456789");
  EXPECT_THAT(text.text(), AllOf(HasSubstr("0123456789\n..."), HasSubstr("left out ...\n0123456789")));
  BoundedText small(10);
  small.add("short");
  EXPECT_EQ(small.text(), "short");
}

}  // namespace
}  // namespace ww::agent
