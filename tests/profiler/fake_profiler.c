// SPDX-License-Identifier: Apache-2.0
// fake_profiler.c - replaces a profiler: NVTX loads it by its protocol, and it records the calls
// that it receives.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void (*function)(void);
struct callbacks {
  size_t size;
  int (*module)(unsigned which, function*** places, unsigned* size);
};

static char heard[1 << 16];

static void note(const char* what, const char* name) {
  const size_t used = strlen(heard);
  snprintf(heard + used, sizeof heard - used, "%s %s\n", what, name);
}

static void mark(const char* name) { note("mark", name); }
static int push(const char* name) {
  note("push", name);
  return 0;
}
static int pop(void) {
  note("pop", "");
  return 0;
}
static void name_thread(uint32_t thread, const char* name) {
  note(thread != 0 ? "thread" : "no thread", name);
}
static void name_device(int device, const char* name) {
  note(device == 0 ? "device 0" : "device", name);
}
static void name_context(void* context, const char* name) {
  note(context != NULL ? "context" : "no context", name);
}
static void name_stream(void* stream, const char* name) {
  note(stream != NULL ? "stream" : "no stream", name);
}
static void name_event(void* event, const char* name) {
  note(event != NULL ? "event" : "no event", name);
}

// Fills one entry of a module. Like real tools, it checks that the entry exists.
static int fill(const struct callbacks* from, unsigned module, unsigned which, function with) {
  function** places = NULL;
  unsigned size = 0;
  if (!from->module(module, &places, &size) || which >= size || places[which] == NULL) return 0;
  *places[which] = with;
  return 1;
}

// Every NVTX client in the process calls this. It returns success if all required entries exist.
int InitializeInjectionNvtx2(const void* (*give_table)(uint32_t)) {
  const struct callbacks* from = give_table(1);
  const size_t* version = give_table(3);
  if (from == NULL || from->size < sizeof *from || version == NULL || give_table(99) != NULL)
    return 0;
  if (from->module(99, NULL, NULL)) return 0;
  return fill(from, 1, 2, (function)mark) && fill(from, 1, 9, (function)push) &&
         fill(from, 1, 11, (function)pop) && fill(from, 1, 14, (function)name_thread) &&
         fill(from, 2, 1, (function)name_device) && fill(from, 2, 3, (function)name_context) &&
         fill(from, 2, 5, (function)name_stream) && fill(from, 2, 7, (function)name_event);
}

// For the test: returns the calls received since the last call.
const char* what_was_heard(void) {
  static char told[sizeof heard];
  memcpy(told, heard, sizeof heard);
  heard[0] = '\0';
  return told;
}
