// SPDX-License-Identifier: Apache-2.0
#include "agent/wire.h"

#include <algorithm>
#include <cctype>

#include "base/json.h"

namespace ww::agent {

std::string CallIds::of_call(const std::string& id) {
  std::string unique = id;
  for (int number = 2; !taken_.insert(unique).second; number++) unique = id + "_" + std::to_string(number);
  last_[id] = unique;
  return unique;
}

std::string CallIds::of_answer(const std::string& id) const {
  const auto found = last_.find(id);
  return found == last_.end() ? id : found->second;
}

std::string sendable_name(const std::string& tool) {
  if (tool.empty()) return "unnamed";
  std::string name = tool.substr(0, 64);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '-'; }, '_');
  return name;
}

const Json& at(const Json& json, const char* key) {
  static const Json kNothing;
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

std::string text_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

int64_t number_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace ww::agent
