// SPDX-License-Identifier: Apache-2.0
//
// Result<T>: a value, or the reason why text from outside (task file, reply, protocol message) was refused.
// Not for faults of the machine or of ours: those are Fault (base/fault.h). Not for judging outcomes: those are data.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/fault.h"

namespace ww {

/// Why something from outside was refused. `where` names the file, line or key ("" if there is none).
struct Error {
  std::string message;
  std::string where;

  std::string text() const { return where.empty() ? message : where + ": " + message; }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by intent
  Result(Error error) : state_(std::move(error)) {}  // NOLINT

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  /// Requires: ok().
  T& value() {
    WW_CHECK(ok(), "value of a failed Result");
    return std::get<T>(state_);
  }
  const T& value() const {
    WW_CHECK(ok(), "value of a failed Result");
    return std::get<T>(state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Requires: !ok().
  const Error& error() const {
    WW_CHECK(!ok(), "error of a good Result");
    return std::get<Error>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// For operations that yield nothing but may be refused.
struct Unit {};
using Status = Result<Unit>;

}  // namespace ww
