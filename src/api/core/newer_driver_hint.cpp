// api/core/newer_driver_hint.cpp - which driver has what this one lacks.
#include "api/core/newer_driver_hint.hpp"

#include "driver/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weir::detail {
namespace {

struct function_version {
  std::string_view symbol;
  std::string_view base;
  int version;
};

constexpr function_version function_versions[] = {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  {#symbol, #base, version},
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

// As cuDriverGetVersion tells them; 0 if weir knows no such function.
int first_version_of(std::string_view call, int newer_than) noexcept {
  int first = 0;
  int last = 0;
  for (const function_version& version_entry : function_versions) {
    if (version_entry.symbol != call && version_entry.base != call) continue;
    last = std::max(last, version_entry.version);
    if (version_entry.version > newer_than && (first == 0 || version_entry.version < first))
      first = version_entry.version;
  }
  return first != 0 ? first : last;
}

}  // namespace

std::string newer_driver_hint(const char* call) {
  int now = 0;
  static_cast<void>(driver().cuDriverGetVersion(&now));
  const int version = first_version_of(call, now);
  if (version == 0) return "install a newer driver; `weir info` shows what this one lacks";
  return fmt::format("{} is of CUDA {}.{} and later; `weir info` shows what else this driver lacks",
                     call, version / 1000, version % 1000 / 10);
}

}  // namespace weir::detail
