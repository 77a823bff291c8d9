// SPDX-License-Identifier: Apache-2.0
#include "cli/budget.h"

#include <charconv>
#include <cmath>
#include <sstream>

namespace ww::cli {
namespace {

Result<double> amount(const std::string& text, double least, double most) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool sound = code == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  if (!sound || value < least || value > most) {
    std::ostringstream range;
    range << "must be a number from " << least << " to " << static_cast<int64_t>(most);
    return Error{range.str(), ""};
  }
  return value;
}

}  // namespace

Status apply_budget(const std::string& text, OptimizeOptions& options) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const bool whole = key == "turns" || key == "tokens";
    if (key != "turns" && key != "tokens" && key != "time" && key != "cost") {
      return Error{"is no part of a budget; there are turns=N, tokens=N, time=SECONDS, cost=USD", part};
    }
    const auto value = amount(equals == std::string::npos ? "" : part.substr(equals + 1), key == "cost" ? 0.0001 : 1,
                              key == "turns"  ? 100'000
                              : key == "cost" ? 1e6
                              : key == "time" ? 1e7
                                              : 1e12);
    if (!value) return Error{value.error().message, part};
    if (whole && *value != std::floor(*value)) return Error{"must be a whole number", part};
    if (key == "turns") options.turns = static_cast<int>(*value);
    if (key == "tokens") options.tokens = static_cast<int64_t>(*value);
    if (key == "time") options.time_limit = seconds(static_cast<int64_t>(std::ceil(*value)));
    if (key == "cost") options.cost_usd = *value;
  }
  return Unit{};
}

}  // namespace ww::cli
