// SPDX-License-Identifier: Apache-2.0
// sequences/fuzz.cpp - libFuzzer chooses calls of the embedded driver, which is linked in and must
// survive them.
#include "sequences/sequence.hpp"

#include "embedded/table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace {

using namespace weir::sequences;

process& the_process() {
  // Device memory is small, so that allocations fail early.
  static const int set = ::setenv("WEIR_EMBEDDED_MEMORY", "64M", 0);
  static const CUresult initialised = weir::embedded::table().cuInit(0);
  static process p{load_both_forms(weir::embedded::table()), handles::any};
  if (set != 0 || initialised != weir::abi::CUDA_SUCCESS) std::abort();
  return p;
}

// Returns the buffer for the calls: in the file that WEIR_FUZZ_TEXT names, if any, which survives a
// crash.
std::span<char> room_for_text() {
  const char* const file = std::getenv("WEIR_FUZZ_TEXT");
  const int to = file == nullptr ? -1 : ::open(file, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (to >= 0 && ::ftruncate(to, transcript::room) != 0) std::abort();
  const int kind = to >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const room = ::mmap(nullptr, transcript::room, PROT_READ | PROT_WRITE, kind, to, 0);
  if (room == MAP_FAILED) std::abort();
  return {static_cast<char*>(room), transcript::room};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::span<char> text = room_for_text();
  choice_source choices{std::span{bytes, size}};
  (void)run_sequence(the_process(), choices, 100, text);
  return 0;
}
