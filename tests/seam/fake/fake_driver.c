// SPDX-License-Identifier: Apache-2.0
// fake/fake_driver.c - libraries that imitate a CUDA driver, each with one defect. Compiled once
// for each.
#include <stddef.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif
#ifndef FAKE_INIT
#define FAKE_INIT 0
#endif
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 1
#endif

#ifdef FAKE_NOT_A_DRIVER
SHOWN int fake_something_else(void) { return 0; }
#else

SHOWN int cuInit(unsigned flags) { return flags == 0 ? FAKE_INIT : 1; }

SHOWN int cuDriverGetVersion(int* version) {
  *version = FAKE_VERSION;
  return 0;
}

static int count_devices(int* count) {
  *count = FAKE_DEVICES;
  return 0;
}

// The result 41 shows the test that the form of version 12000 was requested, whose signature weir
// calls.
static int get_stream_id(void* stream, unsigned long long* id) {
  (void)stream;
  *id = 41;
  return 0;
}

#ifndef FAKE_WITHOUT_LOOK_UP
SHOWN int cuGetProcAddress_v2(const char* symbol, void** found, int version,
                              unsigned long long flags, int* status) {
  (void)flags;
  (void)status;
  *found = NULL;
  if (version > FAKE_VERSION) return 1;
  if (strcmp(symbol, "cuInit") == 0) *found = (void*)cuInit;
  if (strcmp(symbol, "cuDriverGetVersion") == 0) *found = (void*)cuDriverGetVersion;
  if (strcmp(symbol, "cuDeviceGetCount") == 0) *found = (void*)count_devices;
  if (strcmp(symbol, "cuStreamGetId") == 0 && version == 12000) *found = (void*)get_stream_id;
  return 0;
}
#endif

#endif
