// SPDX-License-Identifier: Apache-2.0
#include "base/toml.h"

#include <toml++/toml.h>

#include <sstream>

#include "base/json.h"

namespace ww {
namespace {

Json convert(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = convert(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const auto& value : *array) list.push_back(convert(value));
    return list;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  std::ostringstream text;
  node.visit([&](const auto& leaf) {
    if constexpr (!toml::is_table<decltype(leaf)> && !toml::is_array<decltype(leaf)>) text << leaf;
  });
  return text.str();
}

}  // namespace

Result<Json> parse_toml(std::string_view text, const std::string& where) {
  try {
    return convert(toml::parse(text, where));
  } catch (const toml::parse_error& error) {
    std::ostringstream place;
    place << where << ":" << error.source().begin.line << ":" << error.source().begin.column;
    return Error{std::string(error.description()), place.str()};
  }
}

}  // namespace ww
