// SPDX-License-Identifier: Apache-2.0
//
// The agent's tools over one workspace folder: files, a shell, a list of what is to be done, and the judge. Whatever a
// model asks for, malformed or not, the answer is data; only faults of ours or of the machine are thrown.
// Single-threaded; the shell dies with the thread.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/model.h"
#include "agent/shell.h"
#include "agent/workshop.h"
#include "agent/workspace.h"
#include "base/json_fwd.h"

namespace ww::agent {

/// What a tool call gave. `text` is for the model, valid UTF-8 and bounded; `data` is a JSON object as text:
/// `{"error": ...}` where the call was refused, else what docs/formats/episode.md lists for the tool.
struct ToolResult {
  std::string text;
  std::string data = "{}";
};

class Tools {
 public:
  /// `workspace` is made if missing and belongs to the tools; `attempts` receives a copy of the sources behind each
  /// verdict, named by the ordinal of its tool call. `workshop` must outlive the tools.
  Tools(std::filesystem::path workspace, std::filesystem::path attempts, Workshop& workshop);
  ~Tools();

  static const std::vector<ToolSpec>& specs();

  /// `ordinal`: how many tool calls the episode has seen, this one included.
  ToolResult call(const ToolCall& call, int ordinal);

  /// Empties the workspace and forgets what was done, before an episode is gone on with.
  void begin_again();
  /// Brings workspace and list to the state that an answered call left behind, without asking the workshop again.
  /// `data`: of the answer. Programs that the shell ran are not run again: what they changed in files is in `data`.
  void restore(const ToolCall& call, const Json& data);

  /// Where things stand, for a model that is shown nothing else: files, list, verdicts.
  std::string situation() const;

 private:
  struct Entry;
  static const std::vector<Entry>& table();
  static const Entry* find(const std::string& tool);

  ToolResult write(const Json& arguments, int ordinal);
  ToolResult read(const Json& arguments, int ordinal);
  ToolResult edit(const Json& arguments, int ordinal);
  ToolResult multi_edit(const Json& arguments, int ordinal);
  ToolResult glob(const Json& arguments, int ordinal);
  ToolResult grep(const Json& arguments, int ordinal);
  ToolResult bash(const Json& arguments, int ordinal);
  ToolResult bash_output(const Json& arguments, int ordinal);
  ToolResult kill_bash(const Json& arguments, int ordinal);
  ToolResult todo(const Json& arguments, int ordinal);
  ToolResult build(const Json& arguments, int ordinal);
  ToolResult verify(const Json& arguments, int ordinal);
  ToolResult profile(const Json& arguments, int ordinal);
  ToolResult finish(const Json& arguments, int ordinal);

  ToolResult judge(const JudgeRequest& request, int ordinal);
  ToolResult apply_edits(const std::string& path, const Json& edits);
  ToolResult in_shell(const std::string& command, seconds limit);
  ToolResult start_job(const std::string& command);
  void add_changes(ToolResult& result);
  void note_verdict(const Json& verdict);

  Workspace workspace_;
  std::filesystem::path attempts_;
  Workshop& workshop_;
  Shell shell_;
  bool shell_lost_ = false;  ///< an earlier sitting had one
  int jobs_ = 0;
  std::map<int, uint64_t> shown_bytes_;  ///< of each background job's output
  std::string todo_ = "[]";              ///< JSON text
  std::string last_verdict_, best_verdict_;
  double best_low_ = 0;
};

/// A few hundred characters that tell a model what a verdict found: outcome, reason, times and speed-ups by workload.
std::string summarise_verdict(const verdict::Verdict& verdict);

}  // namespace ww::agent
