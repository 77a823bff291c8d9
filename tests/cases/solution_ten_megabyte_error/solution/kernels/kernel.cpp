// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>
#include <warpwright/solution.h>

#define N0 { int this_variable_has_no_initialiser_and_a_long_name = another_name_that_nobody_declared + and_one_more; }
#define N1 N0 N0 N0 N0 N0 N0 N0 N0 N0 N0
#define N2 N1 N1 N1 N1 N1 N1 N1 N1 N1 N1
#define N3 N2 N2 N2 N2 N2 N2 N2 N2 N2 N2
#define N4 N3 N3 N3 N3 N3 N3 N3 N3 N3 N3
int ww_forward(const ww_call*) {
  N4
  return 0;
}
