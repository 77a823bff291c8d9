// SPDX-License-Identifier: Apache-2.0
#include "agent/open_model.h"

#include "agent/builtin_model.h"
#include "agent/http_model.h"
#include "agent/script_model.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr std::string_view kScript = "script:";

bool is_script(const std::string& name) { return name.starts_with(kScript) && name.size() > kScript.size(); }

}  // namespace

bool is_model_name(const std::string& name) { return name == "builtin" || is_script(name) || is_endpoint_spec(name); }

Result<std::unique_ptr<Model>> open_model(const std::string& name, const std::string& title, Workshop& workshop,
                                          const EndpointOptions& options, const Variables& variables) {
  if (is_script(name)) return open_script(name.substr(kScript.size()));
  if (is_endpoint_spec(name)) {
    auto endpoint = make_endpoint(name, options, variables);
    if (!endpoint) return endpoint.error();
    return make_http_model(name, std::move(*endpoint));
  }
  if (name != "builtin") {
    return Error{"is no model; there are builtin, script:FILE, openai:NAME and anthropic:NAME", name};
  }
  const auto captured = workshop.capture();
  if (!captured) return captured.error();
  std::vector<task::Graph> graphs;
  for (const Json& each : *captured) {
    auto graph = task::graph_from_json(each);
    if (!graph) return graph.error();
    graphs.push_back(std::move(*graph));
  }
  auto candidates = writer::candidates(graphs, title);
  if (!candidates) return candidates.error();
  return make_builtin_model(std::move(*candidates));
}

}  // namespace ww::agent
