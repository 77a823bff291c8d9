// SPDX-License-Identifier: Apache-2.0
#include "agent/schema_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/json.h"

namespace ww::agent {
namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  return type == "integer" ? value.is_number_integer() : value.is_number();
}

std::string_view in_words(const std::string& type) {
  if (type == "string") return "text";
  if (type == "boolean") return "true or false";
  if (type == "integer") return "a whole number";
  if (type == "array") return "a list";
  return type == "object" ? "an object" : "a number";
}

std::string range_in_words(const Json& schema) {
  if (!schema.contains("maximum")) return fmt::format("from {}", schema["minimum"].dump());
  if (!schema.contains("minimum")) return fmt::format("up to {}", schema["maximum"].dump());
  return fmt::format("from {} to {}", schema["minimum"].dump(), schema["maximum"].dump());
}

std::string quoted(const std::string& path) { return fmt::format("argument \"{}\"", path); }

Status check(const Json& value, const Json& schema, const std::string& path);

Status check_object(const Json& object, const Json& schema, const std::string& path) {
  const std::string prefix = path.empty() ? "" : path + ".";
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  for (const auto& [key, value] : object.items()) {
    if (properties.contains(key)) continue;
    std::vector<std::string> known;
    for (const auto& [name, unused] : properties.items()) known.push_back(name);
    const std::string takes =
        known.empty() ? "this tool takes none" : fmt::format("there are {}", fmt::join(known, ", "));
    return Error{fmt::format("unknown {}; {}", quoted(prefix + key), takes), ""};
  }
  for (const Json& key : schema.value("required", Json::array())) {
    if (!object.contains(key.get<std::string>())) {
      return Error{quoted(prefix + key.get<std::string>()) + " is missing", ""};
    }
  }
  for (const auto& [key, value] : object.items()) {
    if (auto sound = check(value, properties[key], prefix + key); !sound) return sound;
  }
  return Unit{};
}

Status check(const Json& value, const Json& schema, const std::string& path) {
  const std::string type = schema.at("type");
  if (!has_type(value, type)) {
    if (path.empty()) return Error{"arguments must be a JSON object", ""};
    return Error{fmt::format("{} must be {}", quoted(path), in_words(type)), ""};
  }
  if (type == "object") return check_object(value, schema, path);
  if (type == "array") {
    if (value.size() < schema.value("minItems", size_t{0})) return Error{quoted(path) + " must not be empty", ""};
    for (size_t i = 0; i < value.size(); i++) {
      if (auto sound = check(value[i], schema.at("items"), fmt::format("{}[{}]", path, i)); !sound) return sound;
    }
  }
  const bool below = schema.contains("minimum") && value.get<double>() < schema["minimum"].get<double>();
  const bool above = schema.contains("maximum") && value.get<double>() > schema["maximum"].get<double>();
  if (below || above) return Error{fmt::format("{} must be {}", quoted(path), range_in_words(schema)), ""};
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
    std::vector<std::string> choices;
    for (const Json& choice : schema["enum"]) choices.push_back(choice.dump());
    return Error{fmt::format("{} must be one of {}", quoted(path), fmt::join(choices, ", ")), ""};
  }
  return Unit{};
}

}  // namespace

Status check_arguments(const Json& arguments, const Json& schema) { return check(arguments, schema, ""); }

}  // namespace ww::agent
