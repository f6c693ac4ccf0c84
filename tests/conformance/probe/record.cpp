// SPDX-License-Identifier: Apache-2.0
// probe/record.cpp - what a case records, and how a child process sends it to its parent.
#include "probe/record.hpp"

#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace weir::conformance {
namespace {

std::mutex g_protocol_mutex;
int g_fd = -1;

void put(std::string_view key, std::string_view value) {
  protocol("K " + clean(key) + "=" + clean(value));
}

}  // namespace

void protocol_to(int file_descriptor) {
  std::lock_guard lock(g_protocol_mutex);
  g_fd = file_descriptor;
}

void protocol(std::string_view line) {
  std::lock_guard lock(g_protocol_mutex);
  if (g_fd < 0) return;
  std::string text(line);
  text += '\n';
  size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = write(g_fd, text.data() + sent, text.size() - sent);
    if (n > 0) {
      sent += static_cast<size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      return;
    }
  }
}

std::string clean(std::string_view value) {
  std::string out;
  for (char c : value) out += (c == ' ' || c == '\t' || c == '\n' || c == '\r') ? '_' : c;
  if (out.empty()) out = "-";
  return out;
}

#define RECORD_AS(type, text)                     \
  type Rec::k(std::string_view key, type value) { \
    put(key, text);                               \
    return value;                                 \
  }
RECORD_AS(CUresult, result_name(value))
RECORD_AS(bool, value ? "1" : "0")
RECORD_AS(int, std::to_string(value))
RECORD_AS(unsigned, std::to_string(value))
RECORD_AS(long, std::to_string(value))
RECORD_AS(unsigned long, std::to_string(value))
RECORD_AS(long long, std::to_string(value))
RECORD_AS(unsigned long long, std::to_string(value))
RECORD_AS(CUstreamCaptureStatus, name_of(value))
RECORD_AS(CUstreamCaptureMode, name_of(value))
RECORD_AS(CUgraphNodeType, name_of(value))
RECORD_AS(CUgraphExecUpdateResult, name_of(value))
RECORD_AS(CUgraphInstantiateResult, name_of(value))
#undef RECORD_AS

void Rec::k(std::string_view key, const std::string& value) { put(key, value); }
void Rec::k(std::string_view key, const char* value) { put(key, value); }

void must(CUresult result, const char* expression) {
  if (result == CUDA_SUCCESS) return;
  const std::string_view call(expression);
  throw Abort{std::string(call.substr(0, call.find('('))) + ":" + result_name(result)};
}

}  // namespace weir::conformance
