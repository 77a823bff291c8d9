// SPDX-License-Identifier: Apache-2.0
#include "net/sse.h"

namespace ww::net {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

bool SseParser::feed(std::string_view bytes, const std::function<void(const SseEvent&)>& take) {
  while (!bytes.empty() && !over_limit_) {
    if (after_cr_ && bytes.front() == '\n') {
      after_cr_ = false;
      bytes.remove_prefix(1);
      continue;
    }
    after_cr_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    over_limit_ = line_.size() + event_.data.size() > kEventLimit;
    if (end == std::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(take);
  }
  return !over_limit_;
}

void SseParser::finish(const std::function<void(const SseEvent&)>& take) {
  if (line_.empty() && has_data_ && !over_limit_) emit(take);
}

void SseParser::end_line(const std::function<void(const SseEvent&)>& take) {
  std::string_view line = line_;
  if (first_line_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  first_line_ = false;
  if (line.empty()) {
    emit(take);
  } else if (line.front() == ':') {
    comments_++;
  } else {
    const size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "data") {
      if (has_data_) event_.data += '\n';
      event_.data += value;
      has_data_ = true;
    } else if (field == "event") {
      event_.type = value;
    }
  }
  line_.clear();
}

void SseParser::emit(const std::function<void(const SseEvent&)>& take) {
  if (has_data_) take(event_);
  event_ = {};
  has_data_ = false;
}

}  // namespace ww::net
