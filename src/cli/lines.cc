// SPDX-License-Identifier: Apache-2.0
#include "cli/lines.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/fault.h"
#include "base/interrupt.h"

namespace ww::cli {

bool Lines::read_more() {
  char block[1 << 16];
  while (!ended_) {
    pollfd waiting[] = {{fd_, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
    const int ready = ::poll(waiting, 2, -1);
    stop_if_interrupted();
    if (ready < 0 && errno != EINTR) throw_errno("waiting for requests");
    if (ready <= 0 || !waiting[0].revents) continue;
    const ssize_t count = ::read(fd_, block, sizeof block);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) throw_errno("reading requests");
    if (count > 0) {
      read_.append(block, static_cast<size_t>(count));
      return true;
    }
    ended_ = true;
  }
  return false;
}

std::optional<Lines::Line> Lines::next() {
  Line line;
  size_t end;
  while ((end = read_.find('\n')) == std::string::npos && read_more()) {
    if (read_.size() <= kLongestLine || read_.find('\n') != std::string::npos) continue;
    line.too_long = true;
    read_.clear();
  }
  if (end == std::string::npos && read_.empty() && !line.too_long) return std::nullopt;
  line.cut = end == std::string::npos;
  line.text = read_.substr(0, end);
  read_.erase(0, line.cut ? end : end + 1);
  if (line.text.ends_with('\r')) line.text.pop_back();
  if (first_ && line.text.starts_with("\xef\xbb\xbf")) line.text.erase(0, 3);
  first_ = false;
  line.too_long |= line.text.size() > kLongestLine;
  if (line.too_long) line.text.clear();
  return line;
}

}  // namespace ww::cli
