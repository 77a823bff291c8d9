// SPDX-License-Identifier: Apache-2.0
//
// What the probes of `ww test --sandbox` share (tests/sandbox/README.md). A program holds the acts of one folder; it
// is started with the name of one. C headers only: each program compiles in a fraction of a second.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

/// Exit codes. kUntriable: something that the act needs is missing, so that it says nothing about any wall.
enum Outcome { kOut = 0, kStopped = 10, kUntriable = 20 };

struct Act {
  const char* name;
  Outcome (*run)();
};

inline Outcome out_if(bool got_out) { return got_out ? kOut : kStopped; }

inline Outcome untriable(const char* why) {
  printf("%s\n", why);
  return kUntriable;
}

/// What the runner tells both sides: WW_SECRET, WW_WORK and the like.
inline const char* told(const char* name) {
  const char* value = getenv(name);
  if (value == nullptr) {
    printf("%s is not set\n", name);
    exit(kUntriable);
  }
  return value;
}

inline bool can_read(const char* path) {
  const int fd = open(path, O_RDONLY | O_NONBLOCK);
  char byte;
  const bool read_it = fd >= 0 && read(fd, &byte, 1) == 1;
  if (fd >= 0) close(fd);
  return read_it;
}

/// Opens for writing and writes nothing: proof enough, and no harm outside.
inline bool can_open_for_writing(const char* path) {
  const int fd = open(path, O_WRONLY | O_NONBLOCK);
  if (fd >= 0) close(fd);
  return fd >= 0 || errno == ETXTBSY;  // a program that runs at this moment
}

/// An unnamed file in a folder: proof that one could be left there.
inline bool can_make_file_in(const char* folder) {
  const int fd = open(folder, O_TMPFILE | O_WRONLY, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

inline int run_act(int argc, char** argv, const Act* acts, size_t count) {
  for (size_t i = 0; argc > 1 && i < count; ++i) {
    if (strcmp(acts[i].name, argv[1]) == 0) return acts[i].run();
  }
  fprintf(stderr, "no such act\n");
  return 2;
}

#define PROBE_MAIN(acts) \
  int main(int argc, char** argv) { return run_act(argc, argv, acts, sizeof(acts) / sizeof *(acts)); }
