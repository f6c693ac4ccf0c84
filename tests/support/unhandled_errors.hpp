// SPDX-License-Identifier: Apache-2.0
// support/unhandled_errors.hpp - collects the errors that reach set_unhandled_error_handler.
#pragma once

#include <weir/core/error.hpp>

#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace weir::test {

// While an object of this class exists, errors that cannot be thrown are collected here instead of
// printed to standard error. One at a time.
class unhandled_errors {
 public:
  unhandled_errors() {
    const std::lock_guard lock{mutex()};
    list().clear();
    previous_ = set_unhandled_error_handler(&record);
  }
  unhandled_errors(const unhandled_errors&) = delete;
  unhandled_errors& operator=(const unhandled_errors&) = delete;
  ~unhandled_errors() { set_unhandled_error_handler(previous_); }

  [[nodiscard]] std::vector<std::exception_ptr> all() const {
    const std::lock_guard lock{mutex()};
    return list();
  }
  [[nodiscard]] std::size_t count() const { return all().size(); }

  // Returns those that are weir::error.
  [[nodiscard]] std::vector<error> errors() const {
    std::vector<error> found;
    for (const std::exception_ptr& failure : all()) {
      try {
        std::rethrow_exception(failure);
      } catch (const error& e) {
        found.push_back(e);
      } catch (...) {  // a test's own exception; all() returns it
      }
    }
    return found;
  }

 private:
  static void record(std::exception_ptr failure) noexcept {
    const std::lock_guard lock{mutex()};
    list().push_back(std::move(failure));
  }
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static std::vector<std::exception_ptr>& list() {
    static auto* const instance = new std::vector<std::exception_ptr>;
    return *instance;
  }

  unhandled_error_handler previous_;
};

}  // namespace weir::test
