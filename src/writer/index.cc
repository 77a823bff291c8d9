// SPDX-License-Identifier: Apache-2.0
#include "writer/index.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/fault.h"

namespace ww::writer {
namespace {

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

Index Index::variable(const std::string& name, int64_t low, int64_t high) {
  if (low == high) return low;
  Index index;
  index.terms_[name] = Term{Term::Kind::kVariable, 1, low, high, 1, nullptr};
  return index;
}

int64_t Index::low() const {
  int64_t sum = constant_;
  for (const auto& [key, term] : terms_) sum += term.coefficient * (term.coefficient > 0 ? term.low : term.high);
  return sum;
}

int64_t Index::high() const {
  int64_t sum = constant_;
  for (const auto& [key, term] : terms_) sum += term.coefficient * (term.coefficient > 0 ? term.high : term.low);
  return sum;
}

std::optional<int64_t> Index::constant() const {
  if (terms_.empty()) return constant_;
  return std::nullopt;
}

int64_t Index::coefficient(const std::string& name) const {
  const auto found = terms_.find(name);
  return found == terms_.end() ? 0 : found->second.coefficient;
}

std::set<std::string> Index::variables() const {
  std::set<std::string> names;
  for (const auto& [key, term] : terms_) {
    if (term.inner) {
      names.merge(term.inner->variables());
    } else {
      names.insert(key);
    }
  }
  return names;
}

bool Index::compound() const {
  return std::any_of(terms_.begin(), terms_.end(), [](const auto& item) { return item.second.inner != nullptr; });
}

std::optional<std::pair<std::string, int64_t>> Index::split_wish() const {
  for (const auto& [key, term] : terms_) {
    if (!term.inner) continue;
    if (const auto deeper = term.inner->split_wish()) return deeper;
    const auto& inner = term.inner->terms_;
    if (inner.size() == 1 && !inner.begin()->second.inner && term.inner->constant_ == 0 &&
        inner.begin()->second.coefficient == 1) {
      return std::pair(inner.begin()->first, term.divisor);
    }
  }
  return std::nullopt;
}

Index Index::substitute(const std::map<std::string, Index>& replacements) const {
  Index result(constant_);
  for (const auto& [key, term] : terms_) {
    if (term.inner) {
      const Index inner = term.inner->substitute(replacements);
      const bool whole = term.kind == Term::Kind::kQuotient;
      result = result + (whole ? quotient(inner, term.divisor) : remainder(inner, term.divisor)) * term.coefficient;
      continue;
    }
    const auto found = replacements.find(key);
    result =
        result + (found == replacements.end() ? variable(key, term.low, term.high) : found->second) * term.coefficient;
  }
  return result;
}

std::string Index::text() const {
  std::string text;
  for (const auto& [key, term] : terms_) {
    const int64_t size = std::abs(term.coefficient);
    if (text.empty()) {
      text = term.coefficient < 0 ? "-" : "";
    } else {
      text += term.coefficient < 0 ? " - " : " + ";
    }
    text += size == 1 ? key : key + " * " + std::to_string(size);
  }
  if (text.empty()) return std::to_string(constant_);
  if (constant_ != 0) text += (constant_ < 0 ? " - " : " + ") + std::to_string(std::abs(constant_));
  return text;
}

void Index::add_term(const std::string& key, const Term& term) {
  const auto [found, fresh] = terms_.emplace(key, term);
  if (!fresh) found->second.coefficient += term.coefficient;
  if (found->second.coefficient == 0) terms_.erase(found);
}

// c * (r % k) + c * k * (r / k) is c * r.
bool Index::join_one_pair() {
  for (const auto& [key, term] : terms_) {
    if (term.kind != Term::Kind::kRemainder) continue;
    const Index whole = atom(Term::Kind::kQuotient, *term.inner, term.divisor);
    const auto partner = terms_.find(whole.terms_.begin()->first);
    if (partner == terms_.end() || partner->second.coefficient != term.coefficient * term.divisor) continue;
    const Index joined = *term.inner * term.coefficient;
    terms_.erase(partner);
    terms_.erase(key);
    *this = *this + joined;
    return true;
  }
  return false;
}

Index operator+(const Index& a, const Index& b) {
  Index sum = a;
  sum.constant_ += b.constant_;
  for (const auto& [key, term] : b.terms_) sum.add_term(key, term);
  while (sum.join_one_pair()) {
  }
  return sum;
}

Index operator*(const Index& a, int64_t factor) {
  if (factor == 0) return 0;
  Index product = a;
  product.constant_ *= factor;
  for (auto& [key, term] : product.terms_) term.coefficient *= factor;
  return product;
}

Index Index::atom(Term::Kind kind, const Index& inner, int64_t divisor) {
  const bool whole = kind == Term::Kind::kQuotient;
  Term term{kind, 1, 0, divisor - 1, divisor, std::make_shared<const Index>(inner)};
  if (whole) {
    term.low = inner.low() / divisor;
    term.high = inner.high() / divisor;
  }
  const bool bare = inner.terms_.size() == 1 && inner.constant_ == 0 && inner.terms_.begin()->second.coefficient == 1;
  const std::string operand = bare ? inner.text() : "(" + inner.text() + ")";
  Index index;
  index.terms_["(" + operand + (whole ? " / " : " % ") + std::to_string(divisor) + ")"] = term;
  return index;
}

void Index::divide(int64_t divisor, Index& whole, Index& rest) const {
  whole.constant_ = floor_divide(constant_, divisor);
  rest.constant_ = constant_ - whole.constant_ * divisor;
  for (const auto& [key, term] : terms_) {
    Index& target = term.coefficient % divisor == 0 ? whole : rest;
    Term moved = term;
    if (&target == &whole) moved.coefficient /= divisor;
    target.terms_[key] = moved;
  }
}

Index quotient(const Index& a, int64_t divisor) {
  WW_CHECK(a.low() >= 0, "quotient of a negative index");
  if (divisor == 1) return a;
  Index whole, rest;
  a.divide(divisor, whole, rest);
  if (rest.low() >= 0 && rest.high() < divisor) return whole;
  if (rest.low() < 0) return Index::atom(Index::Term::Kind::kQuotient, a, divisor);
  int64_t common = std::gcd(rest.constant_, divisor);
  for (const auto& [key, term] : rest.terms_) common = std::gcd(common, term.coefficient);
  if (common > 1) {
    Index reduced, none;
    rest.divide(common, reduced, none);
    return whole + quotient(reduced, divisor / common);
  }
  return whole + Index::atom(Index::Term::Kind::kQuotient, rest, divisor);
}

Index remainder(const Index& a, int64_t divisor) {
  WW_CHECK(a.low() >= 0, "remainder of a negative index");
  if (divisor == 1) return 0;
  Index whole, rest;
  a.divide(divisor, whole, rest);
  if (rest.low() >= 0 && rest.high() < divisor) return rest;
  if (rest.low() < 0) return Index::atom(Index::Term::Kind::kRemainder, a, divisor);
  int64_t common = std::gcd(rest.constant_, divisor);
  for (const auto& [key, term] : rest.terms_) common = std::gcd(common, term.coefficient);
  if (common > 1) {
    Index reduced, none;
    rest.divide(common, reduced, none);
    return remainder(reduced, divisor / common) * common;
  }
  return Index::atom(Index::Term::Kind::kRemainder, rest, divisor);
}

Index flatten(const Indices& indices, const std::vector<int64_t>& shape) {
  Index flat;
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + indices[i];
  return flat;
}

Indices unflatten(const Index& flat, const std::vector<int64_t>& shape) {
  Indices indices(shape.size());
  Index rest = flat;
  for (size_t i = shape.size(); i-- > 1;) {
    indices[i] = remainder(rest, shape[i]);
    rest = quotient(rest, shape[i]);
  }
  if (!shape.empty()) indices[0] = rest;
  return indices;
}

}  // namespace ww::writer
