// SPDX-License-Identifier: Apache-2.0
/* interop/stream_protocols.c - weir's C functions from C: the header is C, and the library has what
 * it says. */
#include <weir/interop/stream_protocols.h>

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int true_enough, const char* what) {
  if (true_enough) return;
  fprintf(stderr, "not so: %s (%s)\n", what, weir_last_error());
  ++failures;
}
#define EXPECT(condition) expect((condition) != 0, #condition)

int main(void) {
  struct weir_protocol_stream pair = {-1, 0};
  weir_stream stream = 0;
  long long number = 0;
  int wanted = -1;

  EXPECT(strcmp(weir_last_error(), "") == 0);
  EXPECT(weir_stream_to_protocol(0, &pair) == WEIR_SUCCESS);
  EXPECT(pair.version == 0 && pair.handle == 1);
  EXPECT(weir_stream_from_protocol(WEIR_PROTOCOL_PAIR, &pair, "int", &stream) == WEIR_SUCCESS);
  EXPECT(weir_stream_to_dlpack(stream, &number) == WEIR_SUCCESS && number == 1);

  EXPECT(weir_stream_from_protocol(WEIR_PROTOCOL_WRONG_LENGTH, 0, "list", &stream) ==
         WEIR_WRONG_TYPE);
  EXPECT(strstr(weir_last_error(), "list") != 0);
  number = 0;
  EXPECT(weir_stream_from_dlpack(&number, &stream, &wanted) == WEIR_INVALID_VALUE && wanted == -1);
  number = -1;
  EXPECT(weir_stream_from_dlpack(&number, &stream, &wanted) == WEIR_SUCCESS && wanted == 0);
  EXPECT(weir_stream_from_array_interface(&number, &stream, &wanted) == WEIR_INVALID_VALUE);

  puts(failures == 0 ? "ok" : "failed");
  return failures == 0 ? 0 : 1;
}
