// model/imported_store.hpp - a store of device memory that another process made, as it is seen from
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "embedded/model/ipc/shared_store.hpp"

namespace weir::embedded::model {

// A part of a store, mapped into this process. Move-only; its end unmaps it.
class imported_mapping {
 public:
  imported_mapping() noexcept = default;
  imported_mapping(void* at, std::size_t bytes) noexcept : at_{at}, bytes_{bytes} {}
  imported_mapping(imported_mapping&& other) noexcept
      : at_{std::exchange(other.at_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  imported_mapping& operator=(imported_mapping&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~imported_mapping();

  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }
  [[nodiscard]] std::byte* get() const noexcept { return static_cast<std::byte*>(at_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  void* release() noexcept { return std::exchange(at_, nullptr); }

 private:
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

// Which piece of which store: what a handle says.
struct piece_id {
  std::uint64_t store;    // the store's identity
  unsigned long long id;  // the allocation's
  std::int32_t number;    // among the pieces of the store
};

// A store, opened. It works on when the process that made it has ended: what that had then stays.
// Move-only.
//
// Thread safety: const members, from any thread.
class imported_store {
 public:
  imported_store() noexcept = default;

  // Takes over a segment. Empty where that is no store.
  [[nodiscard]] static imported_store open(shared_memory segment) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(header_); }
  [[nodiscard]] std::uint64_t identity() const noexcept { return header().identity; }
  [[nodiscard]] int device() const noexcept { return header().device; }
  [[nodiscard]] const abi::CUmemLocation& location() const noexcept { return header().location; }
  [[nodiscard]] int process() const noexcept { return header().process; }

  // A piece, whole pages from one that begins at most `skip` bytes before it. Empty where there is
  // none of that name any more, or the system has no addresses left.
  struct piece {
    imported_mapping pages;
    std::size_t skip = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] piece map(const piece_id& name) const noexcept;

 private:
  [[nodiscard]] const store_header& header() const noexcept {
    return *reinterpret_cast<const store_header*>(header_.get());
  }

  shared_memory segment_;
  imported_mapping header_;
};

}  // namespace weir::embedded::model
