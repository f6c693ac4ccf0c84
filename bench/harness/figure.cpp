// SPDX-License-Identifier: Apache-2.0
// harness/figure.cpp - the list of figures.
#include "harness/figure.hpp"

#include <utility>

namespace bench {
namespace {

std::vector<figure>& list() {
  static std::vector<figure> figures;
  return figures;
}

}  // namespace

registration::registration(figure f) { list().push_back(std::move(f)); }

std::span<const figure> all_figures() { return list(); }

}  // namespace bench
