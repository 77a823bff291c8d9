// SPDX-License-Identifier: Apache-2.0
#include "judge/init_value.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/json.h"

namespace ww::judge {
namespace {

template <class T>
void append(const Json& item, std::vector<std::byte>& data) {
  // A bool among numbers counts as 0 or 1, as in Python.
  const T value = item.is_boolean() ? static_cast<T>(item.get<bool>()) : item.get<T>();
  const size_t from = data.size();
  data.resize(from + sizeof value);
  std::memcpy(data.data() + from, &value, sizeof value);
}

}  // namespace

Result<InitValue> init_value_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() || !json.contains("value")) {
    return Error{"an init value needs a name and a value", "init"};
  }
  InitValue init;
  init.spec.name = json["name"].get<std::string>();
  const Json& value = json["value"];
  const Json items = value.is_array() ? value : Json::array({value});
  const auto all = [&](auto predicate) { return std::all_of(items.begin(), items.end(), predicate); };
  if (!all([](const Json& item) { return item.is_number() || item.is_boolean(); })) {
    return Error{"an init value is a number or a list of numbers", "init." + init.spec.name};
  }
  if (value.is_array()) {
    init.spec.shape = {static_cast<int64_t>(items.size())};
  } else {
    init.spec.scalar = true;
  }
  if (!items.empty() && all([](const Json& item) { return item.is_boolean(); })) {
    init.spec.dtype = task::DType::kBool;
    for (const Json& item : items) append<bool>(item, init.data);
  } else if (all([](const Json& item) { return !item.is_number_float(); })) {
    init.spec.dtype = task::DType::kInt64;
    for (const Json& item : items) append<int64_t>(item, init.data);
  } else {
    init.spec.dtype = task::DType::kFloat64;
    for (const Json& item : items) append<double>(item, init.data);
  }
  return init;
}

}  // namespace ww::judge
