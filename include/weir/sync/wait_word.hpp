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

// What a word may hold: the two sizes that a driver waits for.
template <class T>
concept wait_word_value = std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

namespace detail {

// Where a word of weir's is; stays in place for ever, whatever becomes of the object that has it.
[[nodiscard]] WEIR_EXPORT tracked_memory& allocate_wait_word(device gpu, call_site at);
// Whoever takes it next finds it unused.
WEIR_EXPORT void free_wait_word(tracked_memory& slot) noexcept;

[[noreturn]] WEIR_EXPORT void throw_closed_wait_word(const char* call, call_site at);
[[noreturn]] WEIR_EXPORT void throw_index_out_of_range(std::size_t index, std::size_t size,
                                                       call_site at);

}  // namespace detail

// A word in memory that the device of a stream reaches: pinned or registered memory of the host, or
// memory of a device. Drivers refuse pageable memory, managed memory, and that of pools, which is a
// buffer's: what is known by its type is deleted here, an address of such memory is refused by the
// call that uses it (invalid_value). Borrowed: valid while the memory is. Trivially copyable; pass
// by value. wait_value() and write_value() take it.
template <wait_word_value T>
class wait_word_ref {
 public:
  using value_type = T;

  // The caller keeps the memory while it is used. It has to be aligned to its size.
  constexpr explicit wait_word_ref(T* address) noexcept : address_{address} {}

  // An element of a pinned_buffer or another owner of memory that has words, which then remembers
  // the streams that use it, and stays where it is for as long as the reference is used. An index
  // beyond the end is refused (invalid_value).
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

  // No driver has words in the memory of pools, where a buffer's comes from, or in managed memory:
  // these would be refused by every wait and write. A wait_word<T>, or an element of a
  // pinned_buffer or an ipc_buffer, can be one.
  template <class U>
  wait_word_ref(buffer<U>& memory_of_a_pool, std::size_t index, call_site at = {}) = delete;
  template <class U>
  wait_word_ref(managed_buffer<U>& managed_memory, std::size_t index, call_site at = {}) = delete;

  [[nodiscard]] constexpr T* get() const noexcept { return address_; }
  friend constexpr bool operator==(wait_word_ref a, wait_word_ref b) noexcept {
    return a.address_ == b.address_;
  }

  // For weir's operations: who is told; null if nobody.
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

// A word of our own, in pinned memory that the host and every device read and write, in a cache
// line of its own. It costs one small question to the driver, whether its page is still there: weir
// keeps pages of such words, has the driver make a further one when they are used up, and gives
// none back. Destroying one never blocks. weir's operations remember the streams that use it, and
// the word is used for something else only when their work is done. A captured operation is not
// work yet: the word has to outlive the graph. A reset of the primary context (cudaDeviceReset)
// takes the pages with it: words that were made before are not to be touched after one. A new one
// lies in a new page, unless somebody has brought the context back directly through the driver
// meanwhile. Move-only; a reference to the word stays good when the word moves on. Moved-from and
// closed ones answer `closed`. Thread safety: load and store from any thread; moving and closing as
// any object.
template <wait_word_value T>
class wait_word {
 public:
  using value_type = T;

  // Makes one that holds `value`. In a capture: allowed, in every mode. In a host function:
  // refused. cuDevicePrimaryCtxGetState; now and then cuMemHostAlloc, which may wait for the
  // device.
  explicit wait_word(T value = 0, device gpu = device{}, call_site at = call_site::current())
      : slot_{&detail::allocate_wait_word(gpu, at)}, address_{static_cast<T*>(slot_->address())} {
    __atomic_store_n(address_, value, __ATOMIC_RELAXED);
  }
  wait_word(wait_word&& other) noexcept : slot_{other.slot_}, address_{other.address_} {
    other.slot_ = nullptr;
  }
  wait_word& operator=(wait_word&& other) noexcept {
    wait_word taken{static_cast<wait_word&&>(other)};
    std::swap(slot_, taken.slot_);
    std::swap(address_, taken.address_);
    return *this;
  }
  ~wait_word() { close(); }

  // Gives it up now, as its destructor does; does nothing a second time.
  void close() noexcept {
    if (slot_ != nullptr) detail::free_wait_word(*slot_);
    slot_ = nullptr;
  }
  [[nodiscard]] bool closed() const noexcept { return slot_ == nullptr; }

  // What it holds. What a device wrote before it wrote this value can be read afterwards.
  [[nodiscard]] T load(call_site at = call_site::current()) const {
    return __atomic_load_n(checked_address("weir::wait_word::load", at), __ATOMIC_ACQUIRE);
  }

  // Changes it from the host: streams that wait for this go on, and see what the host wrote before.
  // No driver call.
  void store(T value, call_site at = call_site::current()) {
    __atomic_store_n(checked_address("weir::wait_word::store", at), value, __ATOMIC_RELEASE);
  }

  // Null if it is closed.
  [[nodiscard]] T* get() const noexcept { return closed() ? nullptr : address_; }
  operator wait_word_ref<T>() const noexcept { return ref(); }
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

  detail::tracked_memory* slot_;
  T* address_;
};

static_assert(!std::is_copy_constructible_v<wait_word<std::uint32_t>> &&
              sizeof(wait_word<std::uint32_t>) == 2 * sizeof(void*));

// What a device can do with words beyond waiting for and writing 32 bits.
struct wait_word_features {
  bool bits_64 = false;  // words of 64 bits
  bool nor = false;      // until::nor
  bool flush = false;    // value_wait_options::flush
};

// In a capture: allowed. cuDeviceGetAttribute.
[[nodiscard]] WEIR_EXPORT wait_word_features wait_word_support(device gpu,
                                                               call_site at = call_site::current());

}  // namespace weir
