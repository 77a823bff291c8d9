// SPDX-License-Identifier: Apache-2.0
//
// Text that may be long, cut in the middle: the first errors and the last lines say most.
#pragma once

#include <string>
#include <string_view>

namespace ww::agent {

/// At most about `limit` bytes: the head and the tail, and between them how many characters are left out. Cuts between
/// characters of UTF-8.
std::string shorten(std::string_view text, size_t limit);

/// A stream of which the beginning and the end are kept.
class BoundedText {
 public:
  explicit BoundedText(size_t limit) : limit_(limit) {}
  void add(std::string_view bytes);
  /// With the number of characters left out, where any are.
  std::string text() const;

 private:
  size_t limit_;
  size_t left_out_ = 0;
  std::string head_, tail_;
};

}  // namespace ww::agent
