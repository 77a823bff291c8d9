// SPDX-License-Identifier: Apache-2.0
#include "task/graph.h"

#include <limits>
#include <set>

#include "base/json.h"

namespace ww::task {
namespace {

constexpr std::string_view kSchema = "warpwright.graph/1";

/// Reads one graph; the first thing that is wrong is kept and ends the reading.
class Reader {
 public:
  Result<Graph> read(const Json& json) {
    if (!json.is_object() || json.value("schema", "") != kSchema) {
      return Error{"expected schema " + std::string(kSchema), "graph"};
    }
    Graph graph;
    for (const Json& item : list(json, "inputs")) graph.inputs.push_back(input(item));
    for (const Json& item : list(json, "nodes")) graph.nodes.push_back(node(item));
    for (const Json& item : list(json, "outputs")) graph.outputs.push_back(result(item));
    for (const Json& item : list(json, "mutations")) graph.mutations.push_back(result(item));
    if (error_) return *error_;
    return graph;
  }

 private:
  void refuse(const std::string& message) {
    if (!error_) error_ = Error{message, "graph" + where_};
  }

  const Json& list(const Json& json, const char* key) {
    static const Json empty = Json::array();
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (found != json.end() && found->is_array()) return *found;
    refuse(std::string("missing list `") + key + "`");
    return empty;
  }

  std::string text(const Json& json, const char* key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (found != json.end() && found->is_string()) return found->get<std::string>();
    refuse(std::string("missing text `") + key + "`");
    return {};
  }

  DType dtype(const std::string& word) {
    const std::optional<DType> found = dtype_from_name(word);
    if (!found) refuse("unsupported dtype `" + word + "`");
    return found.value_or(DType::kFloat32);
  }

  GraphValue define(const Json& json) {
    GraphValue value;
    value.name = text(json, "name");
    value.dtype = dtype(text(json, "dtype"));
    for (const Json& extent : list(json, "shape")) {
      if (!extent.is_number_integer() || extent.get<int64_t>() < 0) {
        refuse("shape of `" + value.name + "` is not a list of sizes");
        break;
      }
      value.shape.push_back(extent.get<int64_t>());
    }
    if (!defined_.insert(value.name).second) refuse("value `" + value.name + "` is defined twice");
    return value;
  }

  GraphInput input(const Json& json) {
    where_ = ".inputs";
    GraphInput input;
    input.value = define(json);
    const std::string kind = text(json, "kind");
    if (kind == "constant") {
      input.kind = GraphInput::Kind::kConstant;
      read_values(json, input);
      return input;
    }
    if (kind != "input" && kind != "weight") refuse("kind of `" + input.value.name + "` is unknown");
    input.kind = kind == "weight" ? GraphInput::Kind::kWeight : GraphInput::Kind::kInput;
    input.source = text(json, "source");
    return input;
  }

  void read_values(const Json& json, GraphInput& input) {
    int64_t count = 1;
    for (const int64_t extent : input.value.shape) count *= extent;
    for (const Json& item : list(json, "values")) {
      const Argument value = argument(item);
      if (const auto* whole = std::get_if<int64_t>(&value.value)) {
        input.values.push_back(static_cast<double>(*whole));
      } else if (const auto* truth = std::get_if<bool>(&value.value)) {
        input.values.push_back(*truth ? 1 : 0);
      } else if (const auto* real = std::get_if<double>(&value.value)) {
        input.values.push_back(*real);
      }
    }
    if (static_cast<int64_t>(input.values.size()) != count) {
      refuse("constant `" + input.value.name + "` has not as many values as elements");
    }
  }

  Argument object_argument(const Json& json) {
    if (json.contains("ref")) {
      const std::string name = text(json, "ref");
      if (!defined_.count(name)) refuse("value `" + name + "` is used before it is defined");
      return {ValueRef{name}};
    }
    if (json.contains("dtype")) return {dtype(text(json, "dtype"))};
    const std::string scalar = text(json, "scalar");
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (scalar == "inf") return {kInfinity};
    if (scalar == "-inf") return {-kInfinity};
    if (scalar == "nan") return {std::numeric_limits<double>::quiet_NaN()};
    refuse("unknown argument " + json.dump());
    return {};
  }

  Argument argument(const Json& json) {
    if (json.is_null()) return {};
    if (json.is_boolean()) return {json.get<bool>()};
    if (json.is_number_integer()) return {json.get<int64_t>()};
    if (json.is_number()) return {json.get<double>()};
    if (json.is_string()) return {json.get<std::string>()};
    if (json.is_object()) return object_argument(json);
    Argument::List items;
    for (const Json& item : json) items.push_back(argument(item));
    return {std::move(items)};
  }

  GraphNode node(const Json& json) {
    GraphNode node;
    node.name = text(json, "name");
    node.op = text(json, "op");
    where_ = ".nodes." + node.name;
    for (const Json& item : list(json, "args")) node.args.push_back(argument(item));
    if (json.contains("kwargs") && json["kwargs"].is_object()) {
      for (const auto& [key, item] : json["kwargs"].items()) node.kwargs.emplace_back(key, argument(item));
    }
    for (const Json& item : list(json, "outputs")) node.outputs.push_back(define(item));
    if (node.outputs.empty()) refuse("no outputs");
    return node;
  }

  GraphResult result(const Json& json) {
    where_ = ".outputs";
    if (json.is_object() && json.contains("constant")) return {"", text(json, "name"), argument(json["constant"])};
    GraphResult result{text(json, "value"), text(json, "name"), std::nullopt};
    if (!defined_.count(result.value)) refuse("output `" + result.value + "` is not defined");
    return result;
  }

  std::set<std::string> defined_;
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace

Result<Graph> graph_from_json(const Json& json) { return Reader().read(json); }

Result<Graph> parse_graph(std::string_view text) {
  const Result<Json> json = parse_json(text, "graph");
  if (!json) return json.error();
  return graph_from_json(*json);
}

}  // namespace ww::task
