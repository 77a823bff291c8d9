// SPDX-License-Identifier: Apache-2.0
#include "agent/tools.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "agent/bounded_text.h"
#include "agent/schema_check.h"
#include "agent/tool_specs.h"
#include "base/fault.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr size_t kResultLimit = 30'000;     // bytes of a result that a model is shown: some 8,000 tokens
constexpr size_t kDiagnosticsLimit = 4000;  // bytes of compiler output that a model is shown
constexpr size_t kSituationFileLimit = 16'000;
constexpr size_t kKeptChangesLimit = 4u << 20;  // bytes of what one command changed, kept in the episode
constexpr seconds kGrepLimit{10};
constexpr seconds kJobAnswerLimit{10};

ToolResult refuse(const std::string& reason) {
  return {.text = "error: " + shorten(reason, kDiagnosticsLimit), .data = Json{{"error", reason}}.dump()};
}

ToolResult refuse(const Error& error) { return refuse(error.text()); }

std::string describe(const verdict::Speedup& speedup) {
  std::string text;
  const auto add = [&](const std::optional<verdict::Ratio>& ratio, std::string_view side) {
    if (ratio) text += fmt::format("  {:.2f}x {} [{:.2f}, {:.2f}]", ratio->ratio, side, ratio->low, ratio->high);
  };
  add(speedup.eager, "eager");
  add(speedup.compile, "compile");
  return text;
}

std::string describe(const verdict::WorkloadVerdict& workload) {
  std::string text = fmt::format("{}: {}", workload.name, verdict::name(workload.conclusion.outcome()));
  if (workload.config) text += fmt::format(", config {}", *workload.config);
  if (const auto& figures = workload.conclusion.figures()) {
    text += fmt::format(", {:.1f} us", figures->times.solution.time_us);
    if (figures->times.eager) text += fmt::format(" (eager {:.1f})", figures->times.eager->time_us);
    text += describe(figures->speedup);
  }
  return text;
}

/// Lines `from` to `from + count - 1` of a text, counted from 1.
std::string lines_of(const std::string& text, size_t from, size_t count) {
  size_t start = 0;
  for (size_t i = 1; i < from && start < text.size(); i++) {
    const size_t end = text.find('\n', start);
    start = end == std::string::npos ? text.size() : end + 1;
  }
  size_t stop = start;
  for (size_t i = 0; i < count && stop < text.size(); i++) {
    const size_t end = text.find('\n', stop);
    stop = end == std::string::npos ? text.size() : end + 1;
  }
  return text.substr(start, stop - start);
}

/// Replaces `edit.old` in `text`; an Error says why not.
Result<int> apply_edit(std::string& text, const Json& edit) {
  const std::string old = edit.at("old"), replacement = edit.at("new");
  if (old.empty()) return Error{"\"old\" is empty; use write for a new file", ""};
  int count = 0;
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + old.size())) count++;
  if (count == 0) return Error{"\"old\" is not in the file", ""};
  if (count > 1 && !edit.value("all", false)) {
    return Error{fmt::format("\"old\" is in the file {} times; give more of its surroundings, or set all", count), ""};
  }
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + replacement.size())) {
    text.replace(at, old.size(), replacement);
  }
  return count;
}

std::string todo_text(const Json& items) {
  if (items.empty()) return "the list is empty";
  std::string text;
  for (const Json& item : items) {
    const std::string state = item.at("state");
    const char mark = state == "done" ? 'x' : state == "doing" ? '>' : ' ';
    text += fmt::format("[{}] {}\n", mark, item.at("text").get<std::string>());
  }
  return text;
}

/// Models write an object as text now and then; that can only be meant one way.
Result<Json> parse_arguments(const std::string& text) {
  auto arguments = parse_json(text.empty() ? "{}" : text, "arguments");
  if (!arguments || !arguments->is_string()) return arguments;
  auto inner = parse_json(arguments->get<std::string>(), "arguments");
  return inner && inner->is_object() ? inner : arguments;
}

}  // namespace

std::string summarise_verdict(const verdict::Verdict& verdict) {
  std::string text(verdict::name(verdict.outcome()));
  if (!verdict.passed()) text += ": " + shorten(verdict.conclusion.reason(), kDiagnosticsLimit);
  if (const auto& figures = verdict.conclusion.figures()) text += describe(figures->speedup);
  for (const auto& workload : verdict.workloads) text += "\n" + describe(workload);
  if (const auto& failure = verdict.trials.first_failure) {
    text += fmt::format("\nfirst wrong element: workload {}, {}[{}], inputs drawn as {}: expected {:.9g}, got {:.9g}",
                        failure->workload, failure->output, fmt::join(failure->index, ","), failure->pattern,
                        failure->expected, failure->got);
  }
  for (const auto& evidence : verdict.evidence) {
    if (evidence.kind == verdict::EvidenceKind::kCompiler) text += "\n" + shorten(evidence.text, kDiagnosticsLimit);
  }
  return text;
}

struct Tools::Entry {
  ToolSpec spec;
  Json schema;
  ToolResult (Tools::*run)(const Json& arguments, int ordinal);
};

const std::vector<Tools::Entry>& Tools::table() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> made;
    const auto add = [&](const char* name, std::string_view schema, const char* description, auto run) {
      const Json parsed = parse_own_json(schema);
      made.push_back({{name, description, parsed.dump()}, parsed, run});
    };
    add("write", spec::kWrite, "Write a file of the solution, whole. An empty text removes the file.", &Tools::write);
    add("read", spec::kRead, "Read a file of the solution.", &Tools::read);
    add("edit", spec::kEdit, "Replace text in a file.", &Tools::edit);
    add("multi_edit", spec::kMultiEdit, "Several edits of one file, in order; all of them or none.",
        &Tools::multi_edit);
    add("glob", spec::kGlob, "Names of files in the workspace that match a pattern.", &Tools::glob);
    add("grep", spec::kGrep, "Lines of files in the workspace that match, with file and line number.", &Tools::grep);
    add("bash", spec::kBash,
        "Run a command in a shell that lives on between calls, in a sandbox without network. It starts in the "
        "workspace.",
        &Tools::bash);
    add("bash_output", spec::kJob, "What a background job has written since it was last asked for.",
        &Tools::bash_output);
    add("kill_bash", spec::kJob, "End a background job and all it started.", &Tools::kill_bash);
    add("todo", spec::kTodo, "Keep a list of what is to be done: items replace the list, none shows it.", &Tools::todo);
    add("build", spec::kNothing, "Compile the solution; answers with the compiler's diagnostics.", &Tools::build);
    add("verify", spec::kNothing, "Check the solution against the reference, without timing it.", &Tools::verify);
    add("profile", spec::kProfile,
        "Check and time the solution against eager, with \"compile\" also against torch.compile. Without \"config\" "
        "all "
        "configs are tried and the best one is judged.",
        &Tools::profile);
    add("finish", spec::kFinish, "End the episode. The fastest solution that passed wins.", &Tools::finish);
    return made;
  }();
  return entries;
}

const Tools::Entry* Tools::find(const std::string& tool) {
  const auto found = std::find_if(table().begin(), table().end(), [&](const Entry& e) { return e.spec.name == tool; });
  return found == table().end() ? nullptr : &*found;
}

const std::vector<ToolSpec>& Tools::specs() {
  static const std::vector<ToolSpec> specs = [] {
    std::vector<ToolSpec> all;
    for (const Entry& entry : table()) all.push_back(entry.spec);
    return all;
  }();
  return specs;
}

Tools::Tools(fs::path workspace, fs::path attempts, Workshop& workshop)
    : workspace_(std::move(workspace)),
      attempts_(std::move(attempts)),
      workshop_(workshop),
      shell_({.workspace = workspace_.folder(),
              .mounts = workshop.shell_mounts(),
              .environment = workshop.shell_environment(),
              .output_limit = kResultLimit}) {}

Tools::~Tools() = default;

ToolResult Tools::call(const ToolCall& call, int ordinal) {
  const Entry* entry = find(call.tool);
  if (!entry) {
    std::vector<std::string> names;
    for (const ToolSpec& spec : specs()) names.push_back(spec.name);
    return refuse(
        fmt::format("there is no tool \"{}\"; there are {}", shorten(call.tool, 200), fmt::join(names, ", ")));
  }
  const auto arguments = parse_arguments(call.arguments);
  if (!arguments) return refuse(arguments.error());
  if (auto sound = check_arguments(*arguments, entry->schema); !sound) return refuse(sound.error());
  ToolResult result = (this->*entry->run)(*arguments, ordinal);
  if (shell_.started()) add_changes(result);
  result.text = shorten(result.text, kResultLimit);
  return result;
}

ToolResult Tools::write(const Json& arguments, int) {
  const auto name = Workspace::name_inside(arguments.at("path"));
  if (!name) return refuse(name.error());
  const std::string text = arguments.at("text");
  const Status done = text.empty() ? workspace_.remove(*name) : workspace_.write(*name, text);
  if (!done) return refuse(done.error());
  if (text.empty()) return {.text = "removed " + *name};
  return {.text = fmt::format("wrote {} ({} bytes)", *name, text.size())};
}

ToolResult Tools::read(const Json& arguments, int) {
  const auto name = Workspace::name_inside(arguments.at("path"));
  if (!name) return refuse(name.error());
  const auto text = workspace_.read(*name);
  if (!text) return refuse(text.error());
  if (!is_utf8(*text)) return refuse(*name + " is no text");
  return {.text = lines_of(*text, arguments.value("from", size_t{1}), arguments.value("lines", text->size()))};
}

ToolResult Tools::edit(const Json& arguments, int) {
  return apply_edits(arguments.at("path"), Json::array({arguments}));
}

ToolResult Tools::multi_edit(const Json& arguments, int) {
  return apply_edits(arguments.at("path"), arguments.at("edits"));
}

ToolResult Tools::apply_edits(const std::string& path, const Json& edits) {
  const auto name = Workspace::name_inside(path);
  if (!name) return refuse(name.error());
  auto text = workspace_.read(*name);
  if (!text) return refuse(text.error());
  int replaced = 0;
  for (size_t i = 0; i < edits.size(); i++) {
    const auto count = apply_edit(*text, edits[i]);
    if (!count)
      return refuse(edits.size() == 1 ? count.error() : Error{count.error().message, fmt::format("edits[{}]", i)});
    replaced += *count;
  }
  if (text->empty()) return refuse("the file would be empty; write with an empty text removes it");
  if (auto done = workspace_.write(*name, *text); !done) return refuse(done.error());
  return {.text = fmt::format("edited {}: {} replaced", *name, replaced)};
}

ToolResult Tools::glob(const Json& arguments, int) {
  std::string pattern = arguments.at("pattern");
  // fnmatch has no **: its * goes across folders, so a pattern without **/ before it finds files at the top as well.
  std::string flat = pattern;
  for (size_t at; (at = flat.find("**/")) != std::string::npos;) flat.erase(at, 3);
  const int flags = pattern.find("**") == std::string::npos ? FNM_PATHNAME : 0;
  std::string text;
  for (const std::string& name : workspace_.files()) {
    const bool matches =
        ::fnmatch(pattern.c_str(), name.c_str(), flags) == 0 || ::fnmatch(flat.c_str(), name.c_str(), flags) == 0;
    if (matches) text += name + "\n";
  }
  return {.text = text.empty() ? "no file matches" : text};
}

ToolResult Tools::grep(const Json& arguments, int) {
  std::string path = ".";
  if (arguments.contains("path") && arguments["path"] != "." && arguments["path"] != "") {
    const auto name = Workspace::name_inside(arguments["path"]);
    if (!name) return refuse(name.error());
    path = "./" + *name;
  }
  // In the sandbox: a pattern can keep any matcher busy, and links lead nowhere there.
  sandbox::Spec spec;
  sandbox::add_system(spec);
  spec.argv = {"/usr/bin/env", "grep",
               "-rnIE",        arguments.value("ignore_case", false) ? "-i" : "-s",
               "-e",           arguments.at("pattern").get<std::string>(),
               "--",           path};
  spec.env = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"};
  const fs::path folder = fs::absolute(workspace_.folder());
  spec.work_folder = sandbox::probe().has("mount_ns") ? fs::path("/workspace") : folder;
  spec.mounts.push_back({.host = folder, .inside = spec.work_folder});
  spec.limits.wall = kGrepLimit;
  if (arguments.at("pattern").get<std::string>().find('\0') != std::string::npos)
    return refuse("a pattern holds no NUL");
  const auto ended = sandbox::run(spec);
  if (ended.how == sandbox::How::kExited && ended.exit_code == 1) return {.text = "no line matches"};
  if (!ended.ok()) {
    const std::string why = ended.errors.empty() ? std::string(sandbox::name(ended.how)) : ended.errors;
    return refuse("grep: " + why);
  }
  std::string text = ended.output;
  return is_utf8(text) ? ToolResult{.text = text} : refuse("the lines that match are no text");
}

ToolResult Tools::todo(const Json& arguments, int) {
  const Json items = arguments.contains("items") ? arguments["items"] : parse_own_json(todo_);
  todo_ = items.dump();
  return {.text = todo_text(items), .data = Json{{"todo", items}}.dump()};
}

ToolResult Tools::build(const Json&, int) {
  // A copy: what is built is what was there at one moment, and no link in it leads anywhere.
  const TemporaryFolder copy("ww-agent-build");
  workspace_.copy_to(copy.path() / "solution");
  const Built built = workshop_.build(copy.path() / "solution");
  const std::string diagnostics = shorten(built.diagnostics, kDiagnosticsLimit);
  std::string text = built.ok ? fmt::format("built in {:.2f} s", to_seconds(built.elapsed)) : "does not build";
  if (built.cached) text = "built before, unchanged";
  if (!diagnostics.empty()) text += "\n" + diagnostics;
  return {.text = text, .data = Json{{"ok", built.ok}, {"cached", built.cached}, {"diagnostics", diagnostics}}.dump()};
}

ToolResult Tools::verify(const Json&, int ordinal) { return judge({.timing = false}, ordinal); }

ToolResult Tools::profile(const Json& arguments, int ordinal) {
  JudgeRequest request;
  request.compile = arguments.value("compile", false);
  if (arguments.contains("config")) request.config = arguments["config"].get<int32_t>();
  return judge(request, ordinal);
}

ToolResult Tools::finish(const Json&, int) { return {.text = "finished", .data = R"({"finished":true})"}; }

ToolResult Tools::judge(const JudgeRequest& request, int ordinal) {
  const fs::path attempt = attempts_ / fmt::format("{:03}", ordinal);
  workspace_.copy_to(attempt);
  shell_.pause();  // background jobs would be timed along
  const auto verdict = workshop_.judge(attempt, request);
  shell_.go_on();
  if (!verdict) return refuse(verdict.error());
  const Json document = verdict::to_json(*verdict);
  write_file(attempt / "verdict.json", document.dump(2) + "\n");
  note_verdict(document);
  return {.text = summarise_verdict(*verdict),
          .data = Json{{"attempt", attempt.filename().string()}, {"verdict", document}}.dump()};
}

void Tools::note_verdict(const Json& document) {
  const auto verdict = verdict::from_json(document);
  if (!verdict) return;
  last_verdict_ = summarise_verdict(*verdict);
  const auto& figures = verdict->conclusion.figures();
  if (!figures || !figures->speedup.eager || figures->speedup.eager->low <= best_low_) return;
  best_low_ = figures->speedup.eager->low;
  best_verdict_ = last_verdict_;
}

void Tools::begin_again() {
  workspace_.clear();
  todo_ = "[]";
  last_verdict_.clear();
  best_verdict_.clear();
  best_low_ = 0;
  shown_bytes_.clear();
  jobs_ = 0;
  shell_lost_ = false;
}

void Tools::restore(const ToolCall& call, const Json& data) {
  if (data.contains("verdict")) note_verdict(data["verdict"]);
  if (data.contains("todo")) todo_ = data["todo"].dump();
  const bool touches_files = call.tool == "write" || call.tool == "edit" || call.tool == "multi_edit";
  if (touches_files && !data.contains("error")) this->call(call, 0);
  if (call.tool == "bash" && !data.contains("error")) shell_lost_ = true;
  jobs_ = std::max(jobs_, data.value("job", 0));
  const Json changes = data.value("files", Json::object());
  for (const auto& [name, text] : changes.items()) {
    const Status done = text.is_string() ? workspace_.write(name, text) : workspace_.remove(name);
    if (!done && text.is_string())
      throw Fault(Fault::Kind::kSystem, "bringing the workspace back: " + done.error().text());
  }
}

std::string Tools::situation() const {
  std::string text;
  if (todo_ != "[]") text += "Your list:\n" + todo_text(parse_own_json(todo_));
  if (!best_verdict_.empty()) text += "Best verdict so far:\n" + best_verdict_ + "\n";
  if (last_verdict_ != best_verdict_) text += "Last verdict:\n" + last_verdict_ + "\n";
  text += "Files in the workspace:\n";
  for (const std::string& name : workspace_.files()) {
    const auto content = workspace_.read(name);
    text += content && is_utf8(*content) ? fmt::format("--- {}\n{}\n", name, shorten(*content, kSituationFileLimit))
                                         : fmt::format("--- {} (no text)\n", name);
  }
  return shorten(text, 2 * kResultLimit);
}

// ---- the shell

ToolResult Tools::in_shell(const std::string& command, seconds limit) {
  const bool fresh = !shell_.started();
  if (fresh) workspace_.changes();  // what is there now was put there by other tools
  CommandEnd end;
  try {
    end = shell_.run(command, limit);
  } catch (const Fault& fault) {
    // Where the sandbox cannot show the workspace the other tools still serve.
    if (fault.kind() == Fault::Kind::kInterrupted || shell_.started()) throw;
    return refuse(fmt::format("there is no shell here: {}", fault.what()));
  }
  Json data = Json::object();
  std::string text = end.output;
  if (fresh && shell_lost_) text = "(a new shell: variables and jobs of the earlier one are gone)\n" + text;
  shell_lost_ = false;
  if (end.how == CommandEnd::How::kExited) {
    data["exit_code"] = end.exit_code;
    if (end.exit_code != 0) text += fmt::format("\n(exit code {})", end.exit_code);
  } else if (end.how == CommandEnd::How::kTimeLimit) {
    data["time_limit"] = true;
    text += fmt::format("\n(ended after {} s; the shell was ended with it, the next command gets a new one)",
                        limit.count());
  } else {
    data["shell_ended"] = true;
    text += "\n(the shell ended; the next command gets a new one)";
  }
  ToolResult result{.text = text.empty() ? "(no output)" : text, .data = data.dump()};
  if (!shell_.started()) add_changes(result);
  return result;
}

void Tools::add_changes(ToolResult& result) {
  const Workspace::Changes changes = workspace_.changes();
  if (changes.files.empty() && changes.not_kept.empty()) return;
  Json data = parse_own_json(result.data);
  std::vector<std::string> not_kept = changes.not_kept;
  size_t kept = 0;
  for (const auto& [name, text] : changes.files) {
    const size_t size = text ? text->size() : 0;
    if (kept + size > kKeptChangesLimit) {
      not_kept.push_back(name);
    } else {
      data["files"][name] = text ? Json(*text) : Json();
      kept += size;
    }
  }
  if (!not_kept.empty()) data["not_kept"] = not_kept;
  result.data = data.dump();
}

ToolResult Tools::bash(const Json& arguments, int) {
  const std::string command = arguments.at("command");
  if (command.find('\0') != std::string::npos) return refuse("a command holds no NUL");
  if (arguments.value("background", false)) return start_job(command);
  return in_shell(command, seconds(arguments.value("limit_s", spec::kBashLimitS)));
}

ToolResult Tools::start_job(const std::string& command) {
  const int job = jobs_ + 1;
  // A session of its own, so that all of it can be ended; its files lie outside the workspace.
  const std::string start = fmt::format(
      "mkdir -p /tmp/.jobs; setsid /bin/bash -c 'echo $$ >/tmp/.jobs/{0}.pid; /bin/bash -c \"$1\"; "
      "echo $? >/tmp/.jobs/{0}.exit' job {1} >/tmp/.jobs/{0} 2>&1 </dev/null &",
      job, shell_quoted(command));
  ToolResult result = in_shell(start, kJobAnswerLimit);
  Json data = parse_own_json(result.data);
  if (data.value("exit_code", 1) != 0) return result;
  jobs_ = job;
  shown_bytes_[job] = 0;
  data["job"] = job;
  result.data = data.dump();
  result.text = fmt::format("job {} runs in the background; bash_output shows what it writes", job);
  return result;
}

ToolResult Tools::bash_output(const Json& arguments, int) {
  const int job = arguments.at("job");
  if (!shell_.started() || !shown_bytes_.contains(job)) return refuse(fmt::format("there is no job {}", job));
  uint64_t& shown = shown_bytes_[job];
  const std::string look = fmt::format(
      "if [ -e /tmp/.jobs/{0}.exit ]; then echo \"(job {0} ended, exit code $(cat /tmp/.jobs/{0}.exit))\"; "
      "else echo '(job {0} runs)'; fi; tail -c +{1} /tmp/.jobs/{0} | head -c {2}",
      job, shown + 1, kResultLimit / 2);
  ToolResult result = in_shell(look, kJobAnswerLimit);
  const size_t line = result.text.find('\n');
  if (line != std::string::npos) shown += result.text.size() - line - 1;
  return result;
}

ToolResult Tools::kill_bash(const Json& arguments, int) {
  const int job = arguments.at("job");
  if (!shell_.started() || !shown_bytes_.contains(job)) return refuse(fmt::format("there is no job {}", job));
  const ToolResult result = in_shell(
      fmt::format("kill -KILL -- -$(cat /tmp/.jobs/{0}.pid) 2>/dev/null; echo killed >/tmp/.jobs/{0}.exit", job),
      kJobAnswerLimit);
  return {.text = fmt::format("job {} is ended", job), .data = result.data};
}

}  // namespace ww::agent
