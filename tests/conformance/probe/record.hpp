// SPDX-License-Identifier: Apache-2.0
// probe/record.hpp - what a case records, and how a child process sends it to its parent.
#pragma once

#include "probe/names.hpp"

#include <string>
#include <string_view>

namespace weir::conformance {

// Messages from a child to its parent, one line each, written whole:
//   B <index>      a case begins
//   K <key=value>  one recorded value
//   E              the case ended by itself
//   U              the process is unfit for another case
//   F <reason>     the set-up failed
//   D              all cases are done
// Thread safe. Before protocol_to(), messages are dropped.
void protocol_to(int file_descriptor);
void protocol(std::string_view line);

// Returns the value without blanks, so that it is one word of a line.
std::string clean(std::string_view value);

// Records the values of one case, in the order of the calls. A key that begins with '~' is for
// behavior that the documentation leaves open: it is not compared. Each k() returns its value.
class Rec {
 public:
  CUresult k(std::string_view key, CUresult value);
  bool k(std::string_view key, bool value);
  int k(std::string_view key, int value);
  unsigned k(std::string_view key, unsigned value);
  long k(std::string_view key, long value);
  unsigned long k(std::string_view key, unsigned long value);
  long long k(std::string_view key, long long value);
  unsigned long long k(std::string_view key, unsigned long long value);
  CUstreamCaptureStatus k(std::string_view key, CUstreamCaptureStatus value);
  CUstreamCaptureMode k(std::string_view key, CUstreamCaptureMode value);
  CUgraphNodeType k(std::string_view key, CUgraphNodeType value);
  CUgraphExecUpdateResult k(std::string_view key, CUgraphExecUpdateResult value);
  CUgraphInstantiateResult k(std::string_view key, CUgraphInstantiateResult value);
  void k(std::string_view key, const std::string& value);
  void k(std::string_view key, const char* value);
  void k(std::string_view key, const void* value) = delete;  // an address is never recorded
};

// Ends a case whose set-up failed.
struct Abort {
  std::string what;
};

// Throws Abort, naming the function in `expression`, unless the result is success.
void must(CUresult result, const char* expression);
#define OK(e) ::weir::conformance::must((e), #e)

}  // namespace weir::conformance
