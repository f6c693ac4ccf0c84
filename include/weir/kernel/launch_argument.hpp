// SPDX-License-Identifier: Apache-2.0
// weir/kernel/launch_argument.hpp - arguments of kernels: values, and memory with the access that
// the kernel makes to it.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/detail/tracked_memory.hpp>
#include <weir/memory/copy.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace weir {

/// The access that a kernel makes to the memory of an argument. The values combine as bits.
enum class memory_access : unsigned char { unknown = 0, read = 1, write = 2, read_write = 3 };

namespace detail {

/// An argument whose address is passed to the kernel: weir's buffers, spans and module_variables.
template <class R>
concept device_range = memory_range<R> &&
    (tracked_range<R> || std::ranges::enable_borrowed_range<std::remove_cv_t<R>>);

/// The properties of an argument that are known at compile time. argument_table holds them for all
/// arguments of a launch.
struct argument_shape {
  unsigned size;
  unsigned alignment;
  memory_access access;  ///< unknown for values and for plain pointers
};

// value_argument, address_argument and owned_argument have these members:
// - shape
// - value(): the address of the bytes that the driver copies
// - region(): the memory whose use is recorded; its address is null for a value
// - keep(): the owner that a graph has to keep alive; empty if there is none

/// A number, a pointer or a struct, whose bytes are passed to the kernel.
template <class T>
class value_argument {
  static_assert(std::is_trivially_copyable_v<T>,
                "a kernel takes numbers, pointers, and structs that are copied as bytes; of an "
                "object with memory of its "
                "own pass that: a buffer, or a std::span of memory that the device reaches");
  static_assert(!std::is_pointer_v<T> || !std::is_function_v<std::remove_pointer_t<T>>,
                "the address of a host function means nothing to a device");
  static_assert(!std::is_array_v<T>,
                "an array is no argument: copy it to a buffer, or pass a struct that holds it");

 public:
  static constexpr argument_shape shape{sizeof(T), alignof(T), memory_access::unknown};

  explicit value_argument(const T& value) noexcept : value_{&value} {}
  [[nodiscard]] void* value() const noexcept {
    return const_cast<void*>(static_cast<const void*>(value_));
  }
  /// Returns the memory to which a pointer points, of unknown size. The address is null for other
  /// values.
  [[nodiscard]] constexpr detail::region region() const noexcept {
    if constexpr (std::is_pointer_v<T>) {
      return {const_cast<void*>(static_cast<const volatile void*>(*value_)), 1, nullptr};
    } else {
      return {nullptr, 0, nullptr};
    }
  }
  [[nodiscard]] static keep_alive_ref keep() noexcept { return {}; }

 private:
  const T* value_;
};

/// Memory whose address is passed to the kernel.
template <memory_access Access>
class address_argument {
 public:
  static constexpr argument_shape shape{sizeof(void*), alignof(void*), Access};

  explicit constexpr address_argument(const detail::region& memory) noexcept : region_{memory} {}
  /// Returns itself, so that in(), out() and inout() can return an argument for an address.
  [[nodiscard]] const address_argument& argument(call_site) const noexcept { return *this; }
  [[nodiscard]] void* value() const noexcept { return const_cast<void**>(&region_.address); }
  [[nodiscard]] constexpr const detail::region& region() const noexcept { return region_; }
  [[nodiscard]] static keep_alive_ref keep() noexcept { return {}; }

 private:
  detail::region region_;
};

/// Memory whose address is passed to the kernel, together with its owner: a temporary buffer or a
/// shared pointer. If the launch is captured, the graph keeps the owner, which is moved or copied
/// into it.
template <memory_access Access, class Owner>
class owned_argument : public address_argument<Access> {
 public:
  owned_argument(const detail::region& memory, std::remove_reference_t<Owner>& owner) noexcept
      : address_argument<Access>{memory}, owner_{&owner} {}
  [[nodiscard]] keep_alive_ref keep() const {
    using owner_type = std::remove_cvref_t<Owner>;
    return keep_alive_ref{*new keep_alive_box<owner_type>{static_cast<Owner&&>(*owner_)}};
  }

 private:
  std::remove_reference_t<Owner>* owner_;
};

/// Throws `invalid_value` because a shared pointer is null.
[[noreturn]] WEIR_EXPORT void throw_null_argument(call_site at);

/// The access assumed for a range without in(), out() or inout(): const elements can only be read.
template <class Range>
inline constexpr memory_access default_access =
    std::is_const_v<element_of<Range>> ? memory_access::read : memory_access::read_write;

/// Creates the argument for a buffer, a span, a module_variable, or a shared pointer to one.
template <memory_access Access, class Range>
[[nodiscard]] auto argument_of_range(Range&& range, [[maybe_unused]] call_site at) {
  using unreferenced = std::remove_reference_t<Range>;
  if constexpr (shared_pointer<std::remove_cv_t<unreferenced>>) {
    static_assert(device_range<range_named_by<Range>>,
                  "a shared pointer to memory that a device reaches: a buffer");
    if (!range) throw_null_argument(at);
    return owned_argument<Access, const unreferenced&>{region_of(*range), range};
  } else {
    static_assert(device_range<unreferenced>,
                  "a device does not reach memory of the host: copy it to a buffer, or use a "
                  "pinned_buffer or a "
                  "managed_buffer");
    if constexpr (outlives_call<Range>) {
      return address_argument<Access>{region_of(range)};
    } else {
      return owned_argument<Access, unreferenced>{region_of(range), range};
    }
  }
}

/// The result of in(), out() and inout() for a buffer, a span, a module_variable, or a shared
/// pointer to one. Refers to the range, so it must be used in the expression that creates it.
template <memory_access Access, class Range>
class declared_range {
  static_assert(Access == memory_access::read ||
                    !std::is_const_v<element_of<range_named_by<Range>>>,
                "a kernel does not write const elements");

 public:
  explicit constexpr declared_range(Range&& range) noexcept : range_{&range} {}
  [[nodiscard]] auto argument(call_site at) const {
    return argument_of_range<Access>(static_cast<Range&&>(*range_), at);
  }

 private:
  std::remove_reference_t<Range>* range_;
};

/// Returns the argument for `count` elements at `address`, which may be const or volatile.
template <memory_access Access, class T>
[[nodiscard]] constexpr address_argument<Access> argument_of_address(T* address,
                                                                     std::size_t count) noexcept {
  return address_argument<Access>{
      {const_cast<std::remove_cv_t<T>*>(address), count * sizeof(T), nullptr}};
}

/// True for the types that in(), out() and inout() return.
template <class T>
inline constexpr bool is_declared = false;
template <memory_access Access, class Range>
inline constexpr bool is_declared<declared_range<Access, Range>> = true;
template <memory_access Access>
inline constexpr bool is_declared<address_argument<Access>> = true;

/// Converts an argument of launch() to a value_argument, an address_argument or an owned_argument.
template <class Argument>
[[nodiscard]] auto argument_from(Argument&& argument, [[maybe_unused]] call_site at) {
  using unreferenced = std::remove_reference_t<Argument>;
  if constexpr (is_declared<std::remove_cv_t<unreferenced>>) {
    return argument.argument(at);
  } else if constexpr (std::is_null_pointer_v<unreferenced>) {
    return address_argument<memory_access::unknown>{
        detail::region{nullptr, 0, nullptr}};  // nullptr is passed as a null address
  } else if constexpr (device_range<unreferenced>) {
    return argument_of_range<default_access<unreferenced>>(std::forward<Argument>(argument), at);
  } else if constexpr (shared_pointer<std::remove_cv_t<unreferenced>>) {
    return argument_of_range<default_access<range_named_by<Argument>>>(
        std::forward<Argument>(argument), at);
  } else {
    return value_argument<std::remove_cv_t<unreferenced>>{argument};
  }
}

template <class Argument>
using argument_for = decltype(argument_from(std::declval<Argument>(), call_site{}));

}  // namespace detail

/// Marks a buffer, span, module_variable or shared pointer to one as memory that the kernel only
/// reads.
///
/// Without in(), out() or inout(), weir assumes that the kernel reads and writes a buffer, and only
/// reads a const buffer or a span of const elements. The access through a plain pointer is unknown.
/// Marking costs nothing.
///
/// A temporary buffer is freed after the launch, in stream order. In a capture begun through weir,
/// the graph takes over the temporary buffer. The graph also keeps a copy of a shared pointer.
template <class Range>
[[nodiscard]] constexpr auto in(Range&& range) noexcept {
  return detail::declared_range<memory_access::read, Range>{static_cast<Range&&>(range)};
}
/// Marks a buffer, span, module_variable or shared pointer to one as memory that the kernel writes
/// without reading its previous contents. in() describes how the memory is kept alive.
template <class Range>
[[nodiscard]] constexpr auto out(Range&& range) noexcept {
  return detail::declared_range<memory_access::write, Range>{static_cast<Range&&>(range)};
}
/// Marks a buffer, span, module_variable or shared pointer to one as memory that the kernel reads
/// and writes. in() describes how the memory is kept alive.
template <class Range>
[[nodiscard]] constexpr auto inout(Range&& range) noexcept {
  return detail::declared_range<memory_access::read_write, Range>{static_cast<Range&&>(range)};
}
/// Passes `address`, at which there are `count` elements that the kernel only reads.
template <class T>
[[nodiscard]] constexpr auto in(const T* address, std::size_t count) noexcept {
  return detail::argument_of_address<memory_access::read>(address, count);
}
/// Passes `address`, at which there are `count` elements that the kernel writes without reading
/// them.
template <class T>
[[nodiscard]] constexpr auto out(T* address, std::size_t count) noexcept {
  return detail::argument_of_address<memory_access::write>(address, count);
}
/// Passes `address`, at which there are `count` elements that the kernel reads and writes.
template <class T>
[[nodiscard]] constexpr auto inout(T* address, std::size_t count) noexcept {
  return detail::argument_of_address<memory_access::read_write>(address, count);
}

}  // namespace weir
