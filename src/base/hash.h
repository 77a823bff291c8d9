// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 for content addresses (OpenSSL behind this door), and random 64-bit words for seeds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ww {

/// Fields are length-prefixed, so that ("ab","c") and ("a","bc") differ.
class ContentHash {
 public:
  ContentHash();
  ContentHash(ContentHash&&) noexcept;
  ~ContentHash();
  ContentHash& add(std::string_view field);
  /// 64 hexadecimal digits; the object is spent afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 of the bytes alone, 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// From the kernel's generator; never repeats in practice. Throws Fault.
uint64_t random_word();

}  // namespace ww
