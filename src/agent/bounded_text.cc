// SPDX-License-Identifier: Apache-2.0
#include "agent/bounded_text.h"

#include <fmt/format.h>

namespace ww::agent {
namespace {

bool inside_character(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

std::string gap(size_t count) { return fmt::format("\n... {} characters left out ...\n", count); }

}  // namespace

std::string shorten(std::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t head = limit * 3 / 4, tail = text.size() - (limit - head);
  // Four bytes at most: what is no UTF-8 is not searched to its end.
  for (int i = 0; i < 3 && head > 0 && inside_character(text, head); i++) head--;
  for (int i = 0; i < 3 && inside_character(text, tail); i++) tail++;
  return std::string(text.substr(0, head)) + gap(tail - head) + std::string(text.substr(tail));
}

void BoundedText::add(std::string_view bytes) {
  const size_t into_head = std::min(bytes.size(), limit_ - head_.size());
  head_ += bytes.substr(0, into_head);
  tail_ += bytes.substr(into_head);
  // Twice the limit before anything is moved: a stream is not copied for every block that comes.
  if (tail_.size() <= 2 * limit_) return;
  const size_t surplus = tail_.size() - limit_;
  tail_.erase(0, surplus);
  left_out_ += surplus;
}

std::string BoundedText::text() const { return left_out_ == 0 ? head_ + tail_ : head_ + gap(left_out_) + tail_; }

}  // namespace ww::agent
