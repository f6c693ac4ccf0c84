// SPDX-License-Identifier: Apache-2.0
// weir/sync/wait_word.hpp - words of memory that streams wait for and write to.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/tracked_memory.hpp>
#include <weir/device/device.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weir {

template <class T>
class buffer;
template <class T>
class managed_buffer;

/// The types of a word: the two sizes that a driver can wait for.
template <class T>
concept wait_word_value = std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

namespace detail {

/// Allocates a word. The memory is reused but never freed, so the address stays valid until the
/// process ends, unless the context is reset.
[[nodiscard]] WEIR_EXPORT tracked_memory& allocate_wait_word(device gpu, call_site at);
/// Returns a word for reuse, as soon as the work of the streams that use it has finished. Does not
/// wait.
WEIR_EXPORT void free_wait_word(tracked_memory& slot) noexcept;

[[noreturn]] WEIR_EXPORT void throw_closed_wait_word(const char* call, call_site at);
[[noreturn]] WEIR_EXPORT void throw_index_out_of_range(std::size_t index, std::size_t size,
                                                       call_site at);

}  // namespace detail

/// A borrowed word of memory for wait_value() and write_value(). Trivially copyable; pass by value.
/// Valid while the memory is valid.
///
/// The memory must be accessible to the device: pinned or registered host memory, or device memory.
/// Drivers reject pageable memory, managed memory, and memory of pools, which buffers use. The
/// constructors for buffer and managed_buffer are therefore deleted. If a raw address of such
/// memory is used, wait_value() and write_value() throw `invalid_value`.
template <wait_word_value T>
class wait_word_ref {
 public:
  using value_type = T;

  /// Refers to the word at this address, which must be aligned to its size. The caller keeps the
  /// memory valid while it is used.
  constexpr explicit wait_word_ref(T* address) noexcept : address_{address} {}

  /// Refers to an element of a pinned_buffer, an ipc_buffer, or another owner of memory that
  /// supports words. The owner records the streams that use the word, and frees its memory only
  /// after their work. The owner must not be moved while the reference is used.
  ///
  /// Throws: `invalid_value` if the index is out of range.
  template <class Memory>
  requires requires(Memory& m) {
    { m.data() } -> std::same_as<T*>;
    { m.tracked() } -> std::same_as<const detail::tracked_memory&>;
  }
  wait_word_ref(Memory& memory, std::size_t index, call_site at = call_site::current())
      : owner_{&memory.tracked()} {
    if (memory.closed()) detail::throw_closed_wait_word("weir::wait_word_ref", at);
    if (index >= memory.size()) detail::throw_index_out_of_range(index, memory.size(), at);
    address_ = memory.data() + index;
  }

  /// Deleted, because drivers reject words in memory of pools, which buffers use, and in managed
  /// memory. Use a wait_word<T>, or an element of a pinned_buffer or an ipc_buffer.
  template <class U>
  wait_word_ref(buffer<U>& memory_of_a_pool, std::size_t index, call_site at = {}) = delete;
  /// Deleted, because drivers reject words in managed memory.
  template <class U>
  wait_word_ref(managed_buffer<U>& managed_memory, std::size_t index, call_site at = {}) = delete;

  /// Returns the address.
  [[nodiscard]] constexpr T* get() const noexcept { return address_; }
  friend constexpr bool operator==(wait_word_ref a, wait_word_ref b) noexcept {
    return a.address_ == b.address_;
  }

  /// Returns the owner that records the streams which use the word; null if the reference was made
  /// from a raw address. Used by weir's operations.
  [[nodiscard]] constexpr const detail::tracked_memory* owner() const noexcept { return owner_; }

 private:
  template <wait_word_value>
  friend class wait_word;
  constexpr wait_word_ref(T* address, const detail::tracked_memory& owner) noexcept
      : address_{address}, owner_{&owner} {}

  T* address_ = nullptr;
  const detail::tracked_memory* owner_ = nullptr;
};

template <class Memory>
wait_word_ref(Memory&, std::size_t, call_site = {}) -> wait_word_ref<typename Memory::value_type>;

static_assert(std::is_trivially_copyable_v<wait_word_ref<std::uint32_t>>);

/// An owned word in pinned memory that the host and every device can access, in a cache line of its
/// own.
///
/// weir allocates words in pages of pinned memory, adds a page when all words are in use, and never
/// frees a page. Creating a word costs one cheap driver query, which checks that its page still
/// exists. Destroying a word never blocks. weir records the streams whose operations use the word,
/// and reuses the memory only after their work. It does not record launches of a graph that uses
/// the word, so the word must outlive the graph.
///
/// A reset of the primary context (cudaDeviceReset) destroys the pages: do not access words that
/// were created before it. weir notices the reset when it creates a word, and then uses a new page.
/// It cannot notice the reset if the program has recreated the context directly through the driver
/// before that.
///
/// Move-only. A reference to the word stays valid when the object is moved. A moved-from or closed
/// object throws `closed` when used.
///
/// Thread safety: load() and store() may be called from any thread. Moving and closing need
/// external synchronisation.
template <wait_word_value T>
class wait_word {
 public:
  using value_type = T;

  /// Creates a word that contains `value`.
  ///
  /// In a capture: allowed in every capture mode.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuDevicePrimaryCtxGetState; sometimes cuMemHostAlloc, which may wait for the device.
  explicit wait_word(T value = 0, device gpu = device{}, call_site at = call_site::current())
      : slot_{&detail::allocate_wait_word(gpu, at)}, address_{static_cast<T*>(slot_->address())} {
    __atomic_store_n(address_, value, __ATOMIC_RELAXED);
  }
  wait_word(wait_word&& other) noexcept : slot_{other.slot_}, address_{other.address_} {
    other.slot_ = nullptr;
  }
  wait_word& operator=(wait_word&& other) noexcept {
    wait_word replacement{static_cast<wait_word&&>(other)};
    std::swap(slot_, replacement.slot_);
    std::swap(address_, replacement.address_);
    return *this;
  }
  ~wait_word() { close(); }

  /// Destroys the word now, as the destructor does. Does nothing if the object is closed already.
  void close() noexcept {
    if (slot_ != nullptr) detail::free_wait_word(*slot_);
    slot_ = nullptr;
  }
  /// Returns true if the object was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return slot_ == nullptr; }

  /// Returns the value. Everything that a device wrote before it wrote this value can be read
  /// afterwards.
  ///
  /// Throws: `closed`.
  [[nodiscard]] T load(call_site at = call_site::current()) const {
    return __atomic_load_n(checked_address("weir::wait_word::load", at), __ATOMIC_ACQUIRE);
  }

  /// Writes a value from the host. Streams that wait for this value continue, and see everything
  /// that this thread wrote before. Makes no driver call.
  ///
  /// Throws: `closed`.
  void store(T value, call_site at = call_site::current()) {
    __atomic_store_n(checked_address("weir::wait_word::store", at), value, __ATOMIC_RELEASE);
  }

  /// Returns the address; null if closed.
  [[nodiscard]] T* get() const noexcept { return closed() ? nullptr : address_; }
  /// Converts to the reference.
  operator wait_word_ref<T>() const noexcept { return ref(); }
  /// Returns the reference. The reference to a closed word throws `closed` when used.
  [[nodiscard]] wait_word_ref<T> ref() const noexcept {
    return closed() ? wait_word_ref<T>{detail::closed_handle<T>()}
                    : wait_word_ref<T>{address_, *slot_};
  }

 private:
  [[nodiscard]] T* checked_address(const char* call, call_site at) const {
    if (closed()) [[unlikely]] {
      detail::throw_closed_wait_word(call, at);
    }
    return address_;
  }

  detail::tracked_memory* slot_;  ///< the memory of the word; null if closed
  T* address_;
};

static_assert(!std::is_copy_constructible_v<wait_word<std::uint32_t>> &&
              sizeof(wait_word<std::uint32_t>) == 2 * sizeof(void*));

/// Optional features of a device for words, beyond waits and writes of 32 bits.
struct wait_word_features {
  bool bits_64 = false;  ///< words of 64 bits
  bool nor = false;      ///< until::nor
  bool flush = false;    ///< value_wait_options::flush
};

/// Returns the features of a device.
///
/// In a capture: allowed.
/// Driver: cuDeviceGetAttribute.
[[nodiscard]] WEIR_EXPORT wait_word_features wait_word_support(device gpu,
                                                               call_site at = call_site::current());

}  // namespace weir
