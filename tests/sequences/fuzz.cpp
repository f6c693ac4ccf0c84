// sequences/fuzz.cpp - libFuzzer chooses the calls, and the embedded driver, linked in, has to survive them.
#include "sequences/sequence.hpp"

#include "embedded/table.hpp"

#include <cstdlib>
#include <vector>

namespace {

using namespace weir::sequences;

process& the_process() {
  // Memory runs out early, in the driver's own way.
  static const int set = ::setenv("WEIR_EMBEDDED_MEMORY", "64M", 0);
  static const CUresult initialised = weir::embedded::table().cuInit(0);
  static process p{both_forms(weir::embedded::table()), handles::wild};
  if (set != 0 || initialised != weir::abi::CUDA_SUCCESS) std::abort();
  return p;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static std::vector<char> text(transcript::room);
  draw choices{std::span{bytes, size}};
  const std::string_view answers = run_sequence(the_process(), choices, 100, text);
  if (std::getenv("WEIR_FUZZ_VERBOSE") != nullptr) fmt::print("{}", answers);
  return 0;
}
