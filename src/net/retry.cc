// SPDX-License-Identifier: Apache-2.0
#include "net/retry.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "base/fault.h"
#include "base/interrupt.h"

namespace ww::net {
namespace {

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// "20ms", "1s", "6m0s", "1h2m3.5s"; a bare number is seconds.
std::optional<double> duration_s(std::string_view text) {
  if (const auto bare = number(text)) return bare;
  double total = 0;
  while (!text.empty()) {
    const size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
    const auto value = number(text.substr(0, digits));
    text.remove_prefix(digits);
    const size_t letters = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view unit = text.substr(0, letters);
    text.remove_prefix(letters);
    const double scale = unit == "ms" ? 1e-3 : unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    if (!value || scale == 0) return std::nullopt;
    total += *value * scale;
  }
  return total;
}

constexpr const char* kHttpDate = "%a, %d %b %Y %H:%M:%S GMT";
constexpr const char* kRfc3339 = "%Y-%m-%dT%H:%M:%S";

/// Seconds since 1970.
std::optional<double> date_s(const std::string& text, const char* format) {
  tm parts{};
  if (::strptime(text.c_str(), format, &parts) == nullptr) return std::nullopt;
  return static_cast<double>(::timegm(&parts));
}

std::optional<double> retry_after_s(const Headers& headers, double unix_now_s) {
  if (const auto value = number(find_header(headers, "retry-after-ms"))) return *value / 1e3;
  const std::string text = find_header(headers, "retry-after");
  if (const auto value = number(text)) return value;
  const auto date = date_s(text, kHttpDate);
  if (!date) return std::nullopt;
  return *date - unix_now_s;
}

/// The longest reset of those limits that are used up.
std::optional<double> rate_limit_s(const Headers& headers, double unix_now_s) {
  std::optional<double> longest;
  const auto take = [&](const std::string& remaining, const std::optional<double>& reset) {
    if (reset && remaining == "0") longest = std::max(longest.value_or(0), *reset);
  };
  for (const char* what : {"requests", "tokens"}) {
    const std::string name = std::string("x-ratelimit-");
    take(find_header(headers, name + "remaining-" + what), duration_s(find_header(headers, name + "reset-" + what)));
  }
  for (const char* what : {"requests", "tokens", "input-tokens", "output-tokens"}) {
    const std::string name = std::string("anthropic-ratelimit-") + what;
    auto reset = date_s(find_header(headers, name + "-reset"), kRfc3339);
    if (reset) *reset -= unix_now_s;
    take(find_header(headers, name + "-remaining"), reset);
  }
  return longest;
}

}  // namespace

bool is_transient(int status) {
  constexpr std::array kTransient = {408, 425, 429, 500, 502, 503, 504, 529};
  return std::find(kTransient.begin(), kTransient.end(), status) != kTransient.end();
}

std::optional<milliseconds> requested_wait(int status, const Headers& headers, double unix_now_s) {
  auto wait = retry_after_s(headers, unix_now_s);
  if (!wait && status == 429) wait = rate_limit_s(headers, unix_now_s);
  if (!wait) return std::nullopt;
  // The upper bound keeps the conversion defined whatever a server says.
  return milliseconds(static_cast<int64_t>(std::clamp(*wait, 0.0, 1e9) * 1e3));
}

std::optional<milliseconds> wait_before_retry(const RetryPolicy& policy, int tried,
                                              std::optional<milliseconds> requested, double random) {
  if (tried >= policy.tries) return std::nullopt;
  const auto scaled = [](milliseconds wait, double factor) {
    return milliseconds(static_cast<int64_t>(static_cast<double>(wait.count()) * factor));
  };
  if (requested) {
    if (*requested > policy.patience) return std::nullopt;
    return scaled(*requested, 1 + random / 10);
  }
  const auto doubled = std::min(scaled(policy.first_wait, std::exp2(tried - 1)), policy.longest_wait);
  return scaled(doubled, 0.5 + random / 2);
}

void pause(milliseconds time, const std::atomic<bool>* stop) {
  const nanoseconds until = now() + time;
  pollfd wake{interrupt_fd(), POLLIN, 0};
  for (;;) {
    stop_if_interrupted();
    if (stop != nullptr && *stop) throw Fault(Fault::Kind::kInterrupted, "interrupted");
    const auto left = std::chrono::ceil<milliseconds>(until - now());
    if (left.count() <= 0) return;
    ::poll(&wake, 1, static_cast<int>(std::min<int64_t>(left.count(), 100)));
  }
}

}  // namespace ww::net
