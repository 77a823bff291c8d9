// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cerrno>
#include <cstdio>

#include "base/fault.h"
#include "base/json.h"

namespace ww::cli {

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) throw_errno("writing results to stdout");
}

void print_document(const Json& document) {
  print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void print_line(const Json& document) { print(document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"); }

}  // namespace ww::cli
