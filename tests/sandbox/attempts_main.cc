// SPDX-License-Identifier: Apache-2.0
//
// ww-sandbox-attempts NAME [ARGUMENT...]: exit 0 if the attempt succeeded, 10 if it failed, 2 if there is no such one.
#include <cstdio>

#include "attempts.h"

int main(int argc, char** argv) {
  using namespace ww::sandbox::attempts;
  if (argc < 2) return 2;
  for (const auto* list : {&file_attempts(), &process_attempts(), &resource_attempts(), &confined_attempts()}) {
    for (const Attempt& attempt : *list) {
      if (std::string(attempt.name) != argv[1]) continue;
      return attempt.run({argv + 2, argv + argc}) ? kSucceeded : kFailed;
    }
  }
  std::fprintf(stderr, "no attempt %s\n", argv[1]);
  return 2;
}
