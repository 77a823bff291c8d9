// SPDX-License-Identifier: Apache-2.0
//
// The agent's tools over one workspace folder: write, read, build, verify, profile, finish. Whatever a model asks for,
// malformed or not, the answer is data; only faults of ours or of the machine are thrown. Single-threaded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/model.h"
#include "agent/workshop.h"
#include "base/json_fwd.h"

namespace ww::agent {

/// What a tool call gave. `text` is for the model; `data` is a JSON object as text: `{"error": ...}` where the call was
/// refused, else what docs/formats/episode.md lists for the tool.
struct ToolResult {
  std::string text;
  std::string data = "{}";
};

class Tools {
 public:
  /// `workspace` is made if missing and belongs to the tools; `attempts` receives a copy of the sources behind each
  /// verdict, named by the ordinal of its tool call. `workshop` must outlive the tools.
  Tools(std::filesystem::path workspace, std::filesystem::path attempts, Workshop& workshop);

  static std::vector<ToolSpec> specs();

  /// `ordinal`: how many tool calls the episode has seen, this one included.
  ToolResult call(const ToolCall& call, int ordinal);

  /// Brings the workspace to the state that these calls leave behind, without asking the workshop again.
  void replay(const std::vector<ToolCall>& calls);

 private:
  ToolResult write(const Json& arguments);
  ToolResult read(const Json& arguments) const;
  ToolResult build();
  ToolResult judge(const JudgeRequest& request, int ordinal);

  std::filesystem::path workspace_;
  std::filesystem::path attempts_;
  Workshop& workshop_;
};

/// A few hundred characters that tell a model what a verdict found: outcome, reason, times and speed-ups by workload.
std::string summarise_verdict(const verdict::Verdict& verdict);

}  // namespace ww::agent
