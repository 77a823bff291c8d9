// SPDX-License-Identifier: Apache-2.0
//
// Index: an integer expression over loop variables (sums of multiples of variables, quotients and remainders), kept
// simplified by the ranges of its variables, so that a chain of reshapes and permutes ends as a plain affine address.
// Values of quotients and remainders are of non-negative expressions only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ww::writer {

class Index {
 public:
  Index(int64_t constant = 0) : constant_(constant) {}  // NOLINT: numbers are indices
  /// A loop variable with low <= value <= high. Variables are the same if their names are.
  static Index variable(const std::string& name, int64_t low, int64_t high);

  int64_t low() const;
  int64_t high() const;
  std::optional<int64_t> constant() const;
  /// Coefficient of the bare variable, 0 if absent.
  int64_t coefficient(const std::string& name) const;
  /// Every variable, also inside quotients and remainders.
  std::set<std::string> variables() const;
  /// True if a quotient or remainder is left.
  bool compound() const;
  /// A variable that stands alone under a quotient or remainder, with that divisor.
  std::optional<std::pair<std::string, int64_t>> split_wish() const;
  Index substitute(const std::map<std::string, Index>& replacements) const;
  /// As C++ over int64_t.
  std::string text() const;

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator*(const Index& a, int64_t factor);
  /// Requires: a.low() >= 0, divisor > 0.
  friend Index quotient(const Index& a, int64_t divisor);
  friend Index remainder(const Index& a, int64_t divisor);
  friend bool operator==(const Index& a, const Index& b) { return a.text() == b.text(); }

 private:
  struct Term {
    enum class Kind { kVariable, kQuotient, kRemainder };
    Kind kind = Kind::kVariable;
    int64_t coefficient = 0;
    int64_t low = 0;
    int64_t high = 0;
    int64_t divisor = 1;
    std::shared_ptr<const Index> inner;  ///< of quotients and remainders
  };
  void add_term(const std::string& key, const Term& term);
  bool join_one_pair();
  /// Splits into divisor * whole + rest, where rest holds what does not divide.
  void divide(int64_t divisor, Index& whole, Index& rest) const;
  static Index atom(Term::Kind kind, const Index& inner, int64_t divisor);

  int64_t constant_ = 0;
  std::map<std::string, Term> terms_;  ///< by text of the atom
};

using Indices = std::vector<Index>;

/// Row-major position of `indices` in `shape`.
Index flatten(const Indices& indices, const std::vector<int64_t>& shape);
/// The inverse; `flat` is within the shape's elements.
Indices unflatten(const Index& flat, const std::vector<int64_t>& shape);

}  // namespace ww::writer
