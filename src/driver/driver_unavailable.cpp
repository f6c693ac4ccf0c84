// driver/driver_unavailable.cpp - how the seam says that no driver can be had.
#include "driver/driver_unavailable.hpp"

#include <weir/core/error.hpp>

#include <mutex>
#include <set>
#include <utility>

namespace weir::detail {
namespace {

// An error holds its advice by address, since everybody else's is a literal. What is said here is
// said about the machine, so there are few texts, and each is kept for as long as the process
// lives.
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
