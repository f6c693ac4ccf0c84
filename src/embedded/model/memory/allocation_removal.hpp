// model/allocation_removal.hpp - memory that is taken from the program while work that uses it is
// waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/allocation.hpp"

namespace weir::embedded::model {

// The allocation of a kind that starts at an address, which nobody finds any more. One that is not
// taken lives again: what was to end it has failed. Empty where there is none, also because another
// thread was faster.
class allocation_removal {
 public:
  allocation_removal(std::uintptr_t start, memory_kind kind) noexcept
      : record_{address_map::instance().close(start, kind, 0, &bytes_)} {}
  allocation_removal(const allocation_removal&) = delete;
  allocation_removal& operator=(const allocation_removal&) = delete;
  ~allocation_removal() {
    if (record_ != nullptr) record_->open(bytes_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }
  [[nodiscard]] context& owner() const noexcept { return *record_->owner; }

  // Ends it for good: the caller takes it out of the map.
  [[nodiscard]] allocation& commit() noexcept { return *std::exchange(record_, nullptr); }

 private:
  std::size_t bytes_ = 0;
  allocation* record_;
};

}  // namespace weir::embedded::model
