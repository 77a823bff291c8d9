// SPDX-License-Identifier: Apache-2.0
#include "agent/script_model.h"

#include <algorithm>
#include <sstream>

#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

class ScriptModel : public Model {
 public:
  ScriptModel(std::string name, std::vector<Reply> replies) : name_(std::move(name)), replies_(std::move(replies)) {}

  std::string name() const override { return name_; }

  Answer answer(const std::vector<Message>& history, const std::vector<ToolSpec>&) override {
    auto given = static_cast<size_t>(std::count_if(
        history.begin(), history.end(), [](const Message& message) { return message.role == Role::kModel; }));
    if (!history.empty() && history.front().role == Role::kUser && !history.front().data.empty()) {
      given += parse_own_json(history.front().data).at("replies").get<size_t>();
    }
    if (given >= replies_.size()) return Error{"the script has no further reply", name_};
    return replies_[given];
  }

 private:
  std::string name_;
  std::vector<Reply> replies_;
};

Result<Reply> parse_reply(const std::string& line, const std::string& where) {
  const auto json = parse_json(line, where);
  if (!json) return json.error();
  if (!json->is_object()) return Error{"a reply is an object with \"text\" and \"calls\"", where};
  Reply reply;
  for (const auto& [key, value] : json->items()) {
    if (key == "text" && value.is_string()) {
      reply.text = value;
    } else if (key == "calls" && value.is_array()) {
      for (const Json& call : value) {
        if (!call.is_object() || !call.contains("tool") || !call["tool"].is_string()) {
          return Error{"a call is an object with \"tool\" and \"arguments\"", where};
        }
        // Text stands for itself, so that a script can also play a model that writes malformed arguments.
        const Json arguments = call.value("arguments", Json::object());
        reply.calls.push_back({"call" + std::to_string(reply.calls.size()), call["tool"],
                               arguments.is_string() ? arguments.get<std::string>() : arguments.dump()});
      }
    } else {
      return Error{"\"" + key + "\" is unknown or of the wrong type", where};
    }
  }
  return reply;
}

}  // namespace

Result<std::unique_ptr<Model>> open_script(const fs::path& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  std::istringstream stream(*text);
  std::vector<Reply> replies;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    number++;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto reply = parse_reply(line, path.string() + ":" + std::to_string(number));
    if (!reply) return reply.error();
    replies.push_back(std::move(*reply));
  }
  return std::unique_ptr<Model>(new ScriptModel("script:" + path.string(), std::move(replies)));
}

}  // namespace ww::agent
