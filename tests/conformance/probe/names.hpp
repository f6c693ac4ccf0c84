// SPDX-License-Identifier: Apache-2.0
// probe/names.hpp - names of driver API values in the recording.
#pragma once

#include "probe/abi.hpp"

#include <string>
#include <vector>

namespace weir::conformance {

// The result of a function that the library under test does not export; no driver returns it.
constexpr CUresult kMissing = static_cast<CUresult>(1023);

// Returns "CUDA_SUCCESS", "CUDA_ERROR_...", "CUresult_<n>" for a number without a name, or
// "MISSING_FUNCTION".
std::string result_name(CUresult r);

struct NamedResult {
  CUresult value;
  const char* name;
};

// Every result code of CUDA 13.0.
const std::vector<NamedResult>& all_results();

// Returns nullptr for a number without a name.
const char* result_name_or_null(CUresult r);

// Returns the enumerator without its prefix; "<kind>_<n>" for a number without a name.
std::string name_of(CUstreamCaptureStatus s);
std::string name_of(CUstreamCaptureMode m);
std::string name_of(CUgraphNodeType t);
std::string name_of(CUgraphExecUpdateResult r);
std::string name_of(CUgraphInstantiateResult r);

// Returns the text in lower case, for parts of case names.
std::string lower(std::string text);

}  // namespace weir::conformance
