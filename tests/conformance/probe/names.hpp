// probe/names.hpp - values of the driver API as the recording spells them.
#pragma once

#include "probe/abi.hpp"

#include <string>
#include <vector>

namespace weir::conformance {

// A function that the library under test does not export answers with this; no driver does.
constexpr CUresult kMissing = static_cast<CUresult>(1023);

// "CUDA_SUCCESS", "CUDA_ERROR_...", "CUresult_<n>" for a number without a name, or
// "MISSING_FUNCTION".
std::string result_name(CUresult r);

struct NamedResult {
  CUresult value;
  const char* name;
};

// Every result code of CUDA 13.0.
const std::vector<NamedResult>& all_results();

// nullptr for a number without a name.
const char* result_name_or_null(CUresult r);

// Enumerators without their prefix; "<kind>_<n>" for a number without a name.
std::string name_of(CUstreamCaptureStatus s);
std::string name_of(CUstreamCaptureMode m);
std::string name_of(CUgraphNodeType t);
std::string name_of(CUgraphExecUpdateResult r);
std::string name_of(CUgraphInstantiateResult r);

// In lower case, as parts of case names are.
std::string lower(std::string text);

}  // namespace weir::conformance
