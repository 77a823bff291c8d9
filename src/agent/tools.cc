// SPDX-License-Identifier: Apache-2.0
#include "agent/tools.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr uint64_t kFileLimitBytes = 1 << 20;  // a source file beyond this is a mistake of the model
constexpr size_t kDiagnosticsLimit = 4000;     // characters of compiler output that a model is shown

ToolResult refuse(const std::string& reason) {
  return {.text = "error: " + reason, .data = Json{{"error", reason}}.dump()};
}

/// The named string argument; an Error says what is wrong with it.
Result<std::string> text_argument(const Json& arguments, const char* key) {
  if (!arguments.contains(key)) return Error{fmt::format("argument \"{}\" is missing", key), ""};
  if (!arguments[key].is_string()) return Error{fmt::format("argument \"{}\" must be text", key), ""};
  return arguments[key].get<std::string>();
}

/// Relative, inside the workspace, no dots: what a tool may touch.
Result<fs::path> file_argument(const Json& arguments) {
  auto text = text_argument(arguments, "path");
  if (!text) return text.error();
  const fs::path path = fs::path(*text).lexically_normal();
  const bool inside = !path.empty() && path.is_relative() && path.has_filename() && *path.begin() != ".." &&
                      path != fs::path(".") && text->find('\0') == std::string::npos;
  if (!inside) return Error{"path must name a file inside the workspace, like kernels/solution.cpp", ""};
  return path;
}

Status unknown_keys(const Json& arguments, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : arguments.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Error{fmt::format("unknown argument \"{}\"", key), ""};
    }
  }
  return Unit{};
}

Result<bool> flag_argument(const Json& arguments, const char* key) {
  if (!arguments.contains(key)) return false;
  if (!arguments[key].is_boolean()) return Error{fmt::format("argument \"{}\" must be true or false", key), ""};
  return arguments[key].get<bool>();
}

Result<JudgeRequest> profile_request(const Json& arguments) {
  if (auto keys = unknown_keys(arguments, {"config", "compile"}); !keys) return keys.error();
  JudgeRequest request;
  auto compile = flag_argument(arguments, "compile");
  if (!compile) return compile.error();
  request.compile = *compile;
  if (arguments.contains("config")) {
    const Json& config = arguments["config"];
    if (!config.is_number_unsigned() || config.get<uint64_t>() > 1'000'000) {
      return Error{"argument \"config\" must be a number from 0", ""};
    }
    request.config = config.get<int32_t>();
  }
  return request;
}

/// The middle is cut: the first errors and the last line say most.
std::string shorten(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  const size_t head = limit * 3 / 4, tail = limit - head;
  return text.substr(0, head) + fmt::format("\n... {} characters left out ...\n", text.size() - limit) +
         text.substr(text.size() - tail);
}

std::string schema(std::string_view properties, std::string_view required) {
  return fmt::format(R"({{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}})",
                     properties, required);
}

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

Tools::Tools(fs::path workspace, fs::path attempts, Workshop& workshop)
    : workspace_(std::move(workspace)), attempts_(std::move(attempts)), workshop_(workshop) {
  make_folders(workspace_);
}

std::vector<ToolSpec> Tools::specs() {
  const std::string path = R"("path":{"type":"string","description":"relative to the workspace"})";
  return {
      {"write", "Write a file of the solution, whole. An empty text removes the file.",
       schema(path + R"(,"text":{"type":"string"})", R"("path","text")")},
      {"read", "Read a file of the solution.", schema(path, R"("path")")},
      {"build", "Compile the solution; answers with the compiler's diagnostics.", schema("", "")},
      {"verify", "Check the solution against the reference, without timing it.", schema("", "")},
      {"profile",
       "Check and time the solution against eager, with \"compile\" also against torch.compile. Without \"config\" all "
       "configs are tried and the best one is judged.",
       schema(R"("config":{"type":"integer","minimum":0},"compile":{"type":"boolean"})", "")},
      {"finish", "End the episode. The fastest solution that passed wins.", schema(R"("text":{"type":"string"})", "")},
  };
}

ToolResult Tools::write(const Json& arguments) {
  if (auto keys = unknown_keys(arguments, {"path", "text"}); !keys) return refuse(keys.error().message);
  const auto path = file_argument(arguments);
  if (!path) return refuse(path.error().message);
  const auto text = text_argument(arguments, "text");
  if (!text) return refuse(text.error().message);
  if (text->size() > kFileLimitBytes) return refuse(fmt::format("a file may hold {} bytes", kFileLimitBytes));
  const fs::path file = workspace_ / *path;
  std::error_code code;
  if (fs::is_directory(file, code)) return refuse(path->string() + " is a folder");
  if (text->empty()) {
    if (!fs::remove(file, code)) return refuse("there is no file " + path->string());
    return {.text = "removed " + path->string()};
  }
  for (fs::path folder = path->parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(workspace_ / folder, code) && !fs::is_directory(workspace_ / folder, code)) {
      return refuse(folder.string() + " is a file, not a folder");
    }
  }
  make_folders(file.parent_path());
  write_file(file, *text);
  return {.text = fmt::format("wrote {} ({} bytes)", path->string(), text->size())};
}

ToolResult Tools::read(const Json& arguments) const {
  if (auto keys = unknown_keys(arguments, {"path"}); !keys) return refuse(keys.error().message);
  const auto path = file_argument(arguments);
  if (!path) return refuse(path.error().message);
  const auto text = read_file(workspace_ / *path, kFileLimitBytes);
  if (!text) return refuse(path->string() + ": " + text.error().message);
  return {.text = *text};
}

ToolResult Tools::build() {
  const Built built = workshop_.build(workspace_);
  const std::string diagnostics = shorten(built.diagnostics, kDiagnosticsLimit);
  std::string text = built.ok ? fmt::format("built in {:.2f} s", to_seconds(built.elapsed)) : "does not build";
  if (built.cached) text = "built before, unchanged";
  if (!diagnostics.empty()) text += "\n" + diagnostics;
  return {.text = text, .data = Json{{"ok", built.ok}, {"cached", built.cached}, {"diagnostics", diagnostics}}.dump()};
}

ToolResult Tools::judge(const JudgeRequest& request, int ordinal) {
  const fs::path attempt = attempts_ / fmt::format("{:03}", ordinal);
  std::error_code code;
  fs::remove_all(attempt, code);
  make_folders(attempt.parent_path());
  fs::copy(workspace_, attempt, fs::copy_options::recursive, code);
  if (code) throw_errno("copying the solution to " + attempt.string(), code.value());
  const auto verdict = workshop_.judge(attempt, request);
  if (!verdict) return refuse(verdict.error().text());
  const Json document = verdict::to_json(*verdict);
  write_file(attempt / "verdict.json", document.dump(2) + "\n");
  return {.text = summarise_verdict(*verdict),
          .data = Json{{"attempt", attempt.filename().string()}, {"verdict", document}}.dump()};
}

ToolResult Tools::call(const ToolCall& call, int ordinal) {
  const auto arguments = parse_json(call.arguments.empty() ? "{}" : call.arguments, "arguments");
  if (!arguments) return refuse(arguments.error().text());
  if (!arguments->is_object()) return refuse("arguments must be a JSON object");
  if (call.tool == "write") return write(*arguments);
  if (call.tool == "read") return read(*arguments);
  if (call.tool == "profile") {
    const auto request = profile_request(*arguments);
    return request ? judge(*request, ordinal) : refuse(request.error().message);
  }
  if (call.tool == "finish") {
    if (auto keys = unknown_keys(*arguments, {"text"}); !keys) return refuse(keys.error().message);
    return {.text = "finished", .data = R"({"finished":true})"};
  }
  if (call.tool != "build" && call.tool != "verify") {
    return refuse(
        fmt::format("there is no tool \"{}\"; there are write, read, build, verify, profile, finish", call.tool));
  }
  if (auto keys = unknown_keys(*arguments, {}); !keys) return refuse(keys.error().message);
  return call.tool == "build" ? build() : judge({.timing = false}, ordinal);
}

void Tools::replay(const std::vector<ToolCall>& calls) {
  std::error_code code;
  fs::remove_all(workspace_, code);
  make_folders(workspace_);
  for (const auto& call : calls) {
    if (call.tool == "write") this->call(call, 0);
  }
}

}  // namespace ww::agent
