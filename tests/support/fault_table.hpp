// tests/support/fault_table.hpp - a table that counts calls and fails those that it is told to, for
// tests.
#pragma once

#include "driver/table.hpp"

namespace weir::detail {

// While one lives, every call of the process into the driver passes through it. There may be one at
// a time.
//
//   fault_table faults;
//   faults.fail(&driver_table::cuEventCreate, 2, CUDA_ERROR_OUT_OF_MEMORY);
//   ...                                       // the second cuEventCreate from here on answers
//   that, the driver unasked EXPECT_EQ(faults.count(&driver_table::cuEventDestroy_v2), 1);
//
// Thread safety: any function, from any thread; the process's other threads may call the driver
// meanwhile.
class fault_table {
 public:
  // Wraps the table in use; chooses a driver if none is. Throws std::logic_error where another one
  // lives.
  fault_table();

  // Restores the table that was in use. Calls that are under way on other threads end as they
  // began.
  ~fault_table();

  fault_table(const fault_table&) = delete;
  fault_table& operator=(const fault_table&) = delete;

  // The nth call of a function from now on answers `code` and does not reach the driver; the next
  // call is the first. A function has one such order at a time: a later one replaces it.
  template <class Function>
  void fail(Function driver_table::*function, int nth, CUresult code) noexcept {
    fail_at(index_of(function), nth, code);
  }

  // The same for that call and all after it.
  template <class Function>
  void fail_from(Function driver_table::*function, int nth, CUresult code) noexcept {
    fail_from_at(index_of(function), nth, code);
  }

  // Calls of a function since this table was made, failed ones too.
  template <class Function>
  [[nodiscard]] int count(Function driver_table::*function) const noexcept {
    return count_at(index_of(function));
  }

  // Calls of all functions.
  [[nodiscard]] int count_all() const noexcept;

 private:
  // A function by its place in the table.
  template <class Function>
  static std::size_t index_of(Function driver_table::*function) noexcept {
    static constexpr driver_table any{};
    const auto begin = reinterpret_cast<const unsigned char*>(&any);
    const auto member = reinterpret_cast<const unsigned char*>(&(any.*function));
    return static_cast<std::size_t>(member - begin) / sizeof(Function);
  }

  static void fail_at(std::size_t function_index, int nth, CUresult code) noexcept;
  static void fail_from_at(std::size_t function_index, int nth, CUresult code) noexcept;
  static int count_at(std::size_t function_index) noexcept;

  const driver_table* previous_;
};

}  // namespace weir::detail
