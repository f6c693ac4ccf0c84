// SPDX-License-Identifier: Apache-2.0
// fake_nvml.c - imitates the vendor's management library: one device, which reports something else
// each time.
#include <stddef.h>
#include <string.h>

enum { success = 0, not_found = 6, timed_out = 10, gpu_is_lost = 15, invalid_argument = 2 };
enum { xid_critical_error = 8 };

static int has_begun = 0;
static char the_device = 0;
static char the_set = 0;

int nvmlInit_v2(void) {
  has_begun = 1;
#ifdef FAKE_INIT
  return FAKE_INIT;
#else
  return success;
#endif
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  if (!has_begun || strcmp(bus_id, "0000:01:00.0") != 0) return not_found;
  *device = &the_device;
  return success;
}

int nvmlEventSetCreate(void** set) {
  *set = &the_set;
  return success;
}

int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  return device == &the_device && types == xid_critical_error && set == &the_set ? success
                                                                                 : invalid_argument;
}

struct event {
  void* device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};

int nvmlEventSetWait_v2(void* set, struct event* event, unsigned milliseconds) {
  static int waits = 0;
  if (set != &the_set || milliseconds == 0) return invalid_argument;
  switch (waits++) {
    case 0: return timed_out;
    case 1: *event = (struct event){&the_device, xid_critical_error, 31, ~0u, ~0u}; return success;
    default: return gpu_is_lost;
  }
}
