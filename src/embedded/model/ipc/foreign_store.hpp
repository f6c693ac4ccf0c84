// model/foreign_store.hpp - a store of device memory that another process made, as it is seen from here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "embedded/model/ipc/shared_store.hpp"

namespace weir::embedded::model {

// A part of a store, mapped into this process. Move-only; its end unmaps it.
class foreign_mapping {
 public:
  foreign_mapping() noexcept = default;
  foreign_mapping(void* at, std::size_t bytes) noexcept : at_{at}, bytes_{bytes} {}
  foreign_mapping(foreign_mapping&& other) noexcept
      : at_{std::exchange(other.at_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  foreign_mapping& operator=(foreign_mapping&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~foreign_mapping();

  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }
  [[nodiscard]] std::byte* get() const noexcept { return static_cast<std::byte*>(at_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  void* release() noexcept { return std::exchange(at_, nullptr); }

 private:
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

// Which piece of which store: what a handle says.
struct piece_name {
  std::uint64_t store;    // the store's identity
  unsigned long long id;  // the allocation's
  std::int32_t number;    // among the pieces of the store
};

// A store, opened. It works on when the process that made it has ended: what that had then stays. Move-only.
//
// Thread safety: const members, from any thread.
class foreign_store {
 public:
  foreign_store() noexcept = default;

  // Takes over a segment. Empty where that is no store.
  [[nodiscard]] static foreign_store open(shared_memory segment) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(front_); }
  [[nodiscard]] std::uint64_t identity() const noexcept { return front().identity; }
  [[nodiscard]] int device() const noexcept { return front().device; }
  [[nodiscard]] const abi::CUmemLocation& place() const noexcept { return front().place; }
  [[nodiscard]] int process() const noexcept { return front().process; }

  // A piece, whole pages from one that begins at most `skip` bytes before it. Empty where there is none of that name any
  // more, or the system has no addresses left.
  struct piece {
    foreign_mapping pages;
    std::size_t skip = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] piece map(const piece_name& name) const noexcept;

 private:
  [[nodiscard]] const store_front& front() const noexcept {
    return *reinterpret_cast<const store_front*>(front_.get());
  }

  shared_memory segment_;
  foreign_mapping front_;
};

}  // namespace weir::embedded::model
