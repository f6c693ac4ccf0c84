// entry/initialization.cpp - cuInit, the driver's version, the names and texts of results.
#include "embedded/entry/entry.hpp"
#include "embedded/model/process.hpp"

#include <new>

namespace weir::embedded::entry {

namespace {

struct result_words {
  const char* name;
  const char* text;
};

// Null for a number that is no result.
const result_words* find_result(CUresult result) noexcept {
  switch (result) {
#define WEIR_RESULT(symbol, number, errc, says)         \
  case symbol: {                                        \
    static constexpr result_words words{#symbol, says}; \
    return &words;                                      \
  }
#include "driver/results.def"
#undef WEIR_RESULT
  }
  return nullptr;
}

CUresult describe(CUresult result, const char* result_words::*word, const char** out) noexcept {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const result_words* const words = find_result(result);
  *out = words != nullptr ? words->*word : nullptr;
  return words != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  try {
    return model::this_process().initialise();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) { return describe(error, &result_words::name, text); }

CUresult cuGetErrorString(CUresult error, const char** text) { return describe(error, &result_words::text, text); }

}  // namespace weir::embedded::entry
