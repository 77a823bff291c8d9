// SPDX-License-Identifier: Apache-2.0
//
// What a model is told of each tool: name, description and JSON schema of the arguments. Internal to the tools.
#pragma once

#include <string_view>

namespace ww::agent::spec {

inline constexpr int kBashLimitS = 120;         // of a command, where the model does not say
inline constexpr int kBashLongestLimitS = 600;  // longer work belongs in the background

inline constexpr std::string_view kWrite = R"({"type":"object","properties":{
  "path":{"type":"string","description":"relative to the workspace"},
  "text":{"type":"string","description":"the whole file; an empty text removes it"}},
  "required":["path","text"],"additionalProperties":false})";

inline constexpr std::string_view kRead = R"({"type":"object","properties":{
  "path":{"type":"string","description":"relative to the workspace"},
  "from":{"type":"integer","minimum":1,"description":"first line to show"},
  "lines":{"type":"integer","minimum":1,"description":"most lines to show"}},
  "required":["path"],"additionalProperties":false})";

inline constexpr std::string_view kEdit = R"({"type":"object","properties":{
  "path":{"type":"string","description":"relative to the workspace"},
  "old":{"type":"string","description":"text that is in the file exactly once"},
  "new":{"type":"string","description":"what replaces it"},
  "all":{"type":"boolean","description":"replace it wherever it is"}},
  "required":["path","old","new"],"additionalProperties":false})";

inline constexpr std::string_view kMultiEdit = R"({"type":"object","properties":{
  "path":{"type":"string","description":"relative to the workspace"},
  "edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{
    "old":{"type":"string"},"new":{"type":"string"},"all":{"type":"boolean"}},
    "required":["old","new"],"additionalProperties":false}}},
  "required":["path","edits"],"additionalProperties":false})";

inline constexpr std::string_view kGlob = R"({"type":"object","properties":{
  "pattern":{"type":"string","description":"like **/*.cpp"}},
  "required":["pattern"],"additionalProperties":false})";

inline constexpr std::string_view kGrep = R"({"type":"object","properties":{
  "pattern":{"type":"string","description":"extended regular expression, as grep -E takes it"},
  "path":{"type":"string","description":"a file or folder of the workspace; default: all of it"},
  "ignore_case":{"type":"boolean"}},
  "required":["pattern"],"additionalProperties":false})";

inline constexpr std::string_view kBash = R"({"type":"object","properties":{
  "command":{"type":"string"},
  "limit_s":{"type":"integer","minimum":1,"maximum":600,"description":"seconds, default 120; then the shell is ended"},
  "background":{"type":"boolean","description":"start it and answer at once with its job number"}},
  "required":["command"],"additionalProperties":false})";

inline constexpr std::string_view kJob = R"({"type":"object","properties":{
  "job":{"type":"integer","minimum":1}},"required":["job"],"additionalProperties":false})";

inline constexpr std::string_view kTodo = R"({"type":"object","properties":{
  "items":{"type":"array","items":{"type":"object","properties":{
    "text":{"type":"string"},"state":{"type":"string","enum":["open","doing","done"]}},
    "required":["text","state"],"additionalProperties":false}}},
  "additionalProperties":false})";

inline constexpr std::string_view kNothing = R"({"type":"object","properties":{},"additionalProperties":false})";

inline constexpr std::string_view kProfile = R"({"type":"object","properties":{
  "config":{"type":"integer","minimum":0,"maximum":1000000,"description":"judge this config alone"},
  "compile":{"type":"boolean","description":"time torch.compile too"}},"additionalProperties":false})";

inline constexpr std::string_view kFinish = R"({"type":"object","properties":{
  "text":{"type":"string","description":"a last word"}},"additionalProperties":false})";

}  // namespace ww::agent::spec
