// SPDX-License-Identifier: Apache-2.0
#include "task/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "task/nearest_name.h"
#include "task/tensor.h"

namespace ww::task {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kReference = "class Model(object):\n    pass\n\ndef get_inputs():\n    return []\n";

class LoadTask : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) {
    make_folders((folder_.path() / path).parent_path());
    write_file(folder_.path() / path, text);
  }
  Result<Task> load(const std::string& where) { return load_task(where, folder_.path()); }
  std::string refusal(const std::string& toml) {
    write("one/model.py", kReference);
    write("one/task.toml", toml);
    auto task = load("one");
    return task ? "loaded" : task.error().text();
  }

  TemporaryFolder folder_{"ww-task-test"};
};

TEST_F(LoadTask, FolderWithoutSettingsHasOneDefaultWorkload) {
  write("one/model.py", kReference);
  auto task = load((folder_.path() / "one").string());
  ASSERT_TRUE(task) << task.error().text();
  EXPECT_EQ(task->name, "one");
  EXPECT_EQ(task->contract.precision, Precision::kFp32);
  ASSERT_EQ(task->workloads.size(), 1u);
  EXPECT_EQ(task->workloads[0].set, "{}");
  EXPECT_EQ(task->id.size(), 64u);
}

TEST_F(LoadTask, SettingsBesideTheReferenceAreRead) {
  write("one/model.py", kReference);
  write("one/task.toml",
        "precision = 'bf16'\nmode = 'train'\nmutates = ['norm.running_mean']\nredraw_constants = false\n"
        "[[workloads]]\nname = 'wide'\nset = { DIM = 4096, SIZES = [1, 2], EPS = 1e-5, FLAG = true }\n"
        "[[workloads]]\nname = 'plain'\n");
  auto task = load("one");
  ASSERT_TRUE(task) << task.error().text();
  EXPECT_EQ(task->contract.precision, Precision::kBf16);
  EXPECT_EQ(task->contract.mode, Mode::kTrain);
  EXPECT_THAT(task->contract.mutates, ElementsAre("norm.running_mean"));
  EXPECT_FALSE(task->contract.redraw_constants);
  ASSERT_EQ(task->workloads.size(), 2u);
  EXPECT_EQ(parse_own_json(task->workloads[0].set),
            parse_own_json(R"({"DIM":4096,"EPS":1e-5,"FLAG":true,"SIZES":[1,2]})"));
  EXPECT_EQ(task->workloads[1].set, "{}");
}

TEST_F(LoadTask, ContractSurvivesInJson) {
  const Json json = to_json(Contract{});
  EXPECT_EQ(json["precision"], "fp32");
  EXPECT_EQ(json["allow"], (Json{"cublas", "cudnn", "dnnl"}));
  EXPECT_EQ(json["clock"], "guarded");
}

TEST_F(LoadTask, LoneFileHasSettingsUnderItsOwnName) {
  write("suite/a.py", kReference);
  write("suite/a.toml", "precision = 'fp16'");
  write("suite/task.toml", "precision = 'bf16'");
  auto task = load((folder_.path() / "suite/a.py").string());
  ASSERT_TRUE(task);
  EXPECT_EQ(task->name, "a");
  EXPECT_EQ(task->contract.precision, Precision::kFp16);
}

TEST_F(LoadTask, ReferenceNamedDirectlyIsTheSameTaskAsItsFolder) {
  write("one/model.py", kReference);
  write("one/task.toml", "precision = 'fp16'");
  auto by_file = load((folder_.path() / "one/model.py").string());
  auto by_name = load("one");
  ASSERT_TRUE(by_file && by_name);
  EXPECT_EQ(by_file->name, "one");
  EXPECT_EQ(by_file->id, by_name->id);
}

TEST_F(LoadTask, TheOnlyFileWithAModelIsTheReference) {
  write("one/helper.py", "x = 1\n");
  write("one/net.py", kReference);
  auto task = load("one");
  ASSERT_TRUE(task);
  EXPECT_EQ(task->source_path.filename(), "net.py");
  write("one/other.py", kReference);
  task = load("one");
  ASSERT_FALSE(task);
  EXPECT_THAT(task.error().text(), HasSubstr("net.py, other.py"));
}

TEST_F(LoadTask, IdentityFollowsSourceContractAndWorkloads) {
  write("one/model.py", kReference);
  const std::string plain = load("one")->id;
  EXPECT_EQ(load("one")->id, plain);
  write("one/task.toml", "precision = 'bf16'");
  const std::string other_contract = load("one")->id;
  EXPECT_NE(other_contract, plain);
  write("one/task.toml", "precision = 'bf16'\n[[workloads]]\nname = 'default'\nset = { N = 1 }");
  EXPECT_NE(load("one")->id, other_contract);
  write("one/task.toml", "");
  write("one/model.py", std::string(kReference) + "# changed\n");
  EXPECT_NE(load("one")->id, plain);
}

TEST_F(LoadTask, MissingTaskSuggestsTheNearest) {
  write("softmax/model.py", kReference);
  auto task = load("softmx");
  ASSERT_FALSE(task);
  EXPECT_THAT(task.error().text(), HasSubstr("did you mean 'softmax'"));
}

TEST_F(LoadTask, FolderWithoutATaskIsNamed) {
  write("empty/notes.txt", "nothing");
  auto task = load("empty");
  ASSERT_FALSE(task);
  EXPECT_THAT(task.error().text(), HasSubstr("no task in this folder"));
  EXPECT_THAT(task.error().text(), HasSubstr("empty"));
}

TEST_F(LoadTask, SourceThatIsNotUtf8NamesTheLine) {
  write("one/model.py", "class Model:\n  pass\n# caf\xe9\n");
  auto task = load("one");
  ASSERT_FALSE(task);
  EXPECT_THAT(task.error().text(), HasSubstr("model.py:3: not UTF-8"));
}

TEST_F(LoadTask, UnknownKeysAreRefusedWithTheNearestKnownOne) {
  EXPECT_THAT(refusal("precison = 'fp32'"), HasSubstr("task.toml: unknown key 'precison'; did you mean 'precision'?"));
  EXPECT_THAT(refusal("[[workloads]]\nname = 'a'\nsets = {}"), HasSubstr("unknown key 'sets'; did you mean 'set'?"));
}

TEST_F(LoadTask, WrongValuesNameTheKey) {
  EXPECT_THAT(refusal("precision = 'fp8'"), HasSubstr("precision is 'fp8', which is none of fp32, tf32, fp16, bf16"));
  EXPECT_THAT(refusal("precision = 3"), HasSubstr("precision is '3'"));
  EXPECT_THAT(refusal("mutates = 'x'"), HasSubstr("mutates is not a list of strings"));
  EXPECT_THAT(refusal("allow = ['cudn']"), HasSubstr("did you mean 'cudnn'?"));
  EXPECT_THAT(refusal("redraw_constants = 1"), HasSubstr("redraw_constants is not true or false"));
  EXPECT_THAT(refusal("[[workloads]]\nset = {}"), HasSubstr("a workload without a name"));
  EXPECT_THAT(refusal("[[workloads]]\nname='a'\nset = { N = { M = 1 } }"), HasSubstr("set.N is not a number"));
  EXPECT_THAT(refusal("[[workloads]]\nname='a'\n[[workloads]]\nname='a'"), HasSubstr("two workloads named 'a'"));
  EXPECT_THAT(refusal("precision = \n"), HasSubstr("task.toml"));
}

TEST_F(LoadTask, ListHasEveryTaskOnceInOrder) {
  write("b/model.py", kReference);
  write("a/net.py", kReference);
  write("c.py", kReference);
  write("notes/readme.md", "");
  write("helper.py", "x = 1\n");
  EXPECT_THAT(list_tasks(folder_.path()), ElementsAre("a", "b", "c"));
}

TEST(TensorSpec, RoundTripsThroughJson) {
  TensorSpec spec{"x.0", DType::kBfloat16, {2, 0, 3}, false, false};
  auto back = tensor_spec_from_json(to_json(spec));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, "x.0");
  EXPECT_EQ(back->dtype, DType::kBfloat16);
  EXPECT_THAT(back->shape, ElementsAre(2, 0, 3));
  EXPECT_EQ(back->elements(), 0u);
}

TEST(TensorSpec, CountsScalarsAndAbsentArguments) {
  EXPECT_EQ((TensorSpec{"n", DType::kInt64, {}, false, true}).bytes(), 8u);
  EXPECT_EQ((TensorSpec{"n", DType::kFloat32, {}, true, false}).bytes(), 0u);
  EXPECT_EQ((TensorSpec{"x", DType::kFloat16, {3, 5}, false, false}).bytes(), 30u);
}

TEST(TensorSpec, MalformedClaimsAreRefused) {
  for (const char* text : {"3", "{}", R"({"name":1})", R"({"name":"x","dtype":"complex64","shape":[]})",
                           R"({"name":"x","dtype":"float32"})", R"({"name":"x","dtype":"float32","shape":[-1]})",
                           R"({"name":"x","dtype":"float32","shape":[1.5]})",
                           R"({"name":"x","dtype":"float32","shape":[4294967296,4294967296,4294967296]})",
                           R"({"name":"x","dtype":"float32","shape":[1],"none":3})"}) {
    EXPECT_FALSE(tensor_spec_from_json(parse_own_json(text))) << text;
  }
}

TEST(NearestName, SuggestsNothingForAWordThatIsFarFromAll) {
  EXPECT_EQ(nearest_name("banana", {"precision", "mode"}), "");
  EXPECT_EQ(nearest_name("mod", {"precision", "mode"}), "mode");
}

}  // namespace
}  // namespace ww::task
