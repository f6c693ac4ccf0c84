// driver/report.cpp - how the seam says that no driver can be had.
#include "driver/report.hpp"

#include <weir/error.hpp>

namespace weir::detail {

void refuse(errc code, const char* call, const std::string& situation, const char* advice, call_site at) {
  throw error{code, call, situation.c_str(), advice, at};
}

}  // namespace weir::detail
