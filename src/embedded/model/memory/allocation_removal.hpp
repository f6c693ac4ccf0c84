// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/allocation_removal.hpp - hides an allocation while work that uses it is
// awaited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/allocation.hpp"

namespace weir::embedded::model {

// Closes the allocation of a kind that starts at an address, so that no other call finds it. The
// destructor makes the allocation live again unless commit() was called, so a removal that fails
// changes nothing. The object is empty (converts to false) if there is no such allocation, or if
// another thread has closed it first.
class allocation_removal {
 public:
  allocation_removal(std::uintptr_t start, memory_kind kind) noexcept
      : record_{address_map::instance().close(start, kind, 0, &bytes_)} {}
  allocation_removal(const allocation_removal&) = delete;
  allocation_removal& operator=(const allocation_removal&) = delete;
  ~allocation_removal() {
    if (record_ != nullptr) address_map::instance().reopen(*record_, bytes_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }
  [[nodiscard]] context& owner_context() const noexcept { return *record_->owner_context; }

  // Makes the removal permanent. The caller removes the returned record from the address map.
  [[nodiscard]] allocation& commit() noexcept { return *std::exchange(record_, nullptr); }

 private:
  std::size_t bytes_ = 0;
  allocation* record_;
};

}  // namespace weir::embedded::model
