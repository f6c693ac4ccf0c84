// SPDX-License-Identifier: Apache-2.0
// kernel_instances.cpp - the instances of the templates in sources/ that tests use.
#include "kernel_sources.hpp"

namespace weir::test {

std::vector<std::string> kernel_instances(std::string_view name) {
  if (name == "transpose") return {"transpose<unsigned char>", "transpose<double>"};
  if (name == "matrix")
    return {"product_by_tiles<8>", "product_by_tiles<16>", "product_by_tiles<32>"};
  if (name == "sort") return {"sort_block<int>", "sort_block<double>", "sort_block<unsigned char>"};
  if (name == "cellular") return {"live_in_a_block<24>"};
  if (name == "fractal") return {"julia<2>", "julia<3>", "julia<5>"};
  if (name == "groups") return {"sum_tiles<2>", "sum_tiles<4>", "sum_tiles<16>", "sum_tiles<32>"};
  if (name == "templates") {
    return {"arithmetic::combine<float, arithmetic::plus>",
            "arithmetic::combine<unsigned short, arithmetic::plus>",
            "arithmetic::combine<long long, arithmetic::greater>",
            "limits<float>",
            "limits<signed char>",
            "limits<unsigned long>"};
  }
  return {};
}

}  // namespace weir::test
