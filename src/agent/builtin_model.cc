// SPDX-License-Identifier: Apache-2.0
#include "agent/builtin_model.h"

#include <optional>
#include <set>

#include "base/json.h"
#include "verdict/verdict.h"

namespace ww::agent {
namespace {

/// What the history says of one candidate's judging.
struct Finding {
  bool passed = false;
  double low = 0;  ///< lower end of the speed-up over eager
};

Finding read_finding(const std::string& data) {
  const Json json = parse_own_json(data);
  if (!json.contains("verdict")) return {};
  const auto verdict = verdict::from_json(json["verdict"]);
  if (!verdict || !verdict->passed()) return {};
  const auto& figures = verdict->conclusion.figures();
  return {.passed = true, .low = figures && figures->speedup.eager ? figures->speedup.eager->low : 0};
}

class BuiltinModel : public Model {
 public:
  explicit BuiltinModel(std::vector<writer::Candidate> candidates) : candidates_(std::move(candidates)) {}

  std::string name() const override { return "builtin"; }

  Answer answer(const std::vector<Message>& history, const std::vector<ToolSpec>&) override {
    size_t replies = 0;
    std::vector<Finding> findings;
    std::set<std::string> files;
    for (const Message& message : history) {
      if (message.role == Role::kModel) replies++;
      if (message.role != Role::kTool) continue;
      if (message.call.tool == "profile") findings.push_back(read_finding(message.data));
      if (message.call.tool == "write") note_write(message.call, files);
    }
    if (candidates_.empty()) return Error{"the writer has no candidate for this task", "builtin"};
    if (replies < candidates_.size())
      return submit(candidates_[replies], candidates_[replies].name, files, {{"config", 0}});
    const auto best = best_of(findings);
    if (!best) return finish("no candidate passes");
    const writer::Candidate& candidate = candidates_[*best];
    if (replies == candidates_.size()) return submit(candidate, candidate.name + ", tuned", files, {{"compile", true}});
    return finish(candidate.name);
  }

 private:
  static void note_write(const ToolCall& call, std::set<std::string>& files) {
    const Json arguments = parse_own_json(call.arguments);
    const std::string path = arguments["path"];
    if (arguments["text"].get<std::string>().empty()) {
      files.erase(path);
    } else {
      files.insert(path);
    }
  }

  /// Index of the fastest candidate that passed; the judging after the last candidate is the tuning and not looked at.
  std::optional<size_t> best_of(const std::vector<Finding>& findings) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < std::min(findings.size(), candidates_.size()); i++) {
      if (findings[i].passed && (!best || findings[i].low > findings[*best].low)) best = i;
    }
    return best;
  }

  /// Removes what `candidate` does not have, writes what it has, and asks for a verdict.
  static Reply submit(const writer::Candidate& candidate, const std::string& text, std::set<std::string> files,
                      const Json& profile) {
    Reply reply{.text = text, .calls = {}};
    const auto add = [&](const char* tool, const Json& arguments) {
      reply.calls.push_back({"call" + std::to_string(reply.calls.size()), tool, arguments.dump()});
    };
    for (const auto& [path, content] : candidate.files) {
      add("write", {{"path", path}, {"text", content}});
      files.erase(path);
    }
    for (const std::string& path : files) add("write", {{"path", path}, {"text", ""}});
    add("profile", profile);
    return reply;
  }

  static Reply finish(const std::string& text) {
    return {.text = "", .calls = {{"call0", "finish", Json{{"text", text}}.dump()}}};
  }

  std::vector<writer::Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Model> make_builtin_model(std::vector<writer::Candidate> candidates) {
  return std::make_unique<BuiltinModel>(std::move(candidates));
}

}  // namespace ww::agent
