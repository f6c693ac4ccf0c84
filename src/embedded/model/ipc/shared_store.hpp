// model/shared_store.hpp - where device memory lies that other processes may open.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "driver/abi.hpp"
#include "embedded/model/ipc/shared_memory.hpp"

namespace weir::embedded::model {

// A piece of memory that may be opened elsewhere, as the store's first pages tell it to whoever has
// the store.
struct shared_piece {
  std::atomic<unsigned long long> id{0};  // the allocation's; 0 where there is none
  std::atomic<std::uint64_t> address{
      0};  // in the process that owns it, which is its offset in the store, too
  std::atomic<std::uint64_t> bytes{0};
};

// What every process sees of a store: whose it is, and the pieces that may be opened.
struct store_header {
  static constexpr std::uint64_t expected_magic = 0x31'65'72'6f'74'73'72'77;  // "wrstore1"
  static constexpr std::size_t capacity = 1 << 15;

  std::uint64_t magic;
  std::uint64_t identity;  // never the same for two stores
  std::int32_t process;
  std::int32_t device;          // the ordinal of the device whose memory it is
  abi::CUmemLocation location;  // where the memory is: that device, or the host
  std::uint64_t reserved[4];
  std::array<shared_piece, capacity> pieces;
};

// A segment of memory as large as all addresses, of which next to nothing exists: a block lies in
// it at the offset that is its own address. So it needs no accounting of its own, and neighbouring
// blocks stay one mapping to the system.
//
// There is one for each device, of what cuMemAlloc gives out, and one for each pool that was made
// to be shared. It is counted: its blocks keep it, and whoever made it.
//
// Thread safety: all members, from any thread.
class shared_store {
 public:
  // A store for memory at a place, which is a device's or counts as one's, counted once. Null where
  // the system gives none; memory is this process's alone then.
  [[nodiscard]] static shared_store* create(int device,
                                            const abi::CUmemLocation& location) noexcept;

  // The store of what cuMemAlloc gives out on a device; it has no end. Null as before.
  [[nodiscard]] static shared_store* of_device(int device) noexcept;

  void retain() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  // Puts pages of the store, all zero, where private pages lie that nobody has touched. False where
  // it cannot.
  [[nodiscard]] bool map_pages(void* at, std::size_t bytes) noexcept;

  // Ends pages that map_pages() put there, for this process and for others that have them open:
  // they go back to the system.
  void remove(void* at, std::size_t bytes) noexcept;

  // The same, but the addresses stay taken, by private pages.
  void replace_with_private(void* at, std::size_t bytes) noexcept;

  // Makes a piece of the store one that may be opened. Its number; -1 where there are too many.
  [[nodiscard]] int publish(unsigned long long id, std::uintptr_t address,
                            std::size_t bytes) noexcept;
  void withdraw(int piece) noexcept;

  [[nodiscard]] const shared_memory& segment() const noexcept { return segment_; }
  [[nodiscard]] std::uint64_t identity() const noexcept { return header_->identity; }

 private:
  shared_store(shared_memory segment, store_header* header) noexcept
      : segment_{std::move(segment)}, header_{header} {}
  ~shared_store();

  shared_memory segment_;
  store_header* header_;
  std::atomic<int> users_{1};
  std::mutex mutex_;  // guards which pieces are in use
  int used_ = 0;      // pieces from here on have never been in use
};

}  // namespace weir::embedded::model
