// SPDX-License-Identifier: Apache-2.0
// driver/driver_unavailable.cpp - throws the error that no driver is available.
#include "driver/driver_unavailable.hpp"

#include <weir/core/error.hpp>

#include <mutex>
#include <set>
#include <utility>

namespace weir::detail {
namespace {

// Returns the address of a permanent copy of `text`. An error stores its hint by address, because
// all other hints are literals. These texts describe the machine, so there are few, and they are
// never freed.
const char* intern(std::string text) {
  static std::mutex lock;
  static auto* const texts = new std::set<std::string>;
  const std::lock_guard guard{lock};
  return texts->insert(std::move(text)).first->c_str();
}

}  // namespace

void throw_driver_unavailable(errc code, const char* call, const std::string& object,
                              std::string hint, call_site at) {
  throw error{code, call, object.c_str(), intern(std::move(hint)), at};
}

}  // namespace weir::detail
