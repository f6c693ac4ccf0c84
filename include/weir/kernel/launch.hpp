// SPDX-License-Identifier: Apache-2.0
// weir/kernel/launch.hpp - launches of kernels in stream order, with arguments that are checked
// first.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/direct_call.hpp>
#include <weir/detail/export.hpp>
#include <weir/kernel/kernel.hpp>
#include <weir/kernel/launch_argument.hpp>
#include <weir/kernel/launch_config.hpp>
#include <weir/stream/stream.hpp>

#include <concepts>
#include <cstddef>
#include <utility>

namespace weir {
namespace detail {

/// The kernel of a launch together with the call site. A kernel converts to it implicitly. launch()
/// cannot take the call site as its last parameter, since the kernel's arguments come last.
class launched_kernel {
 public:
  launched_kernel(const kernel& target, call_site at = call_site::current()) noexcept
      : target_{&target}, at_{at} {}
  [[nodiscard]] const kernel& target() const noexcept { return *target_; }
  [[nodiscard]] call_site at() const noexcept { return at_; }

 private:
  const kernel* target_;
  call_site at_;
};

/// The sizes, alignments and accesses of the arguments of a launch with these types of arguments,
/// known at compile time.
template <class... Arguments>
struct argument_table {
  static constexpr std::size_t size = sizeof...(Arguments);
  /// One element for each argument, and an unused one, since an array must not be empty.
  static constexpr argument_shape shapes[size + 1] = {Arguments::shape...,
                                                      {0, 1, memory_access::unknown}};

  /// Returns true if the kernel has as many parameters as there are arguments, and each argument
  /// has the size and the alignment of its parameter. Returns false if the parameters are unknown.
  [[nodiscard]] static bool fits(const kernel_info& info) noexcept {
    return info.parameter_count == size &&
           fits_each(info.parameters, std::make_index_sequence<size>{});
  }

 private:
  template <std::size_t... I>
  [[nodiscard]] static bool fits_each([[maybe_unused]] const kernel_parameter* parameters,
                                      std::index_sequence<I...>) noexcept {
    return ((0u | ... |
             ((parameters[I].size ^ shapes[I].size) |
              (parameters[I].offset & (shapes[I].alignment - 1))))) == 0;
  }
};

/// The arguments of a launch in a form without templates, for the functions of weir's library. Each
/// pointer is to an array of `size` elements.
struct argument_list {
  std::size_t size;
  const argument_shape* shapes;
  void** values;
  const region* memory;  ///< its address is null for an argument that is not memory
  /// The arguments themselves, to be passed to `keep`.
  const void* const* arguments;
  /// Functions that return what a graph has to keep alive for the argument; empty for most.
  keep_alive_ref (*const* keep)(const void* argument);
};

/// Throws `closed` if the kernel is empty. Throws `invalid_value` if the number of arguments is
/// wrong, or if an argument does not fit its parameter. Checks no argument if the driver does not
/// report the kernel's parameters.
WEIR_EXPORT void check_arguments(const kernel& target, std::size_t count,
                                 const argument_shape* shapes, const char* call, call_site at);

/// Calls the driver directly (direct_call.hpp). The arguments must fit the parameters. Returns
/// `not_called` for a launch that cannot be made this way, for example one that is not plain
/// (launch_config::is_plain()).
WEIR_EXPORT direct_status launch_directly(const kernel_info& target, const launch_config& config,
                                          CUstream_st* stream, void** values);
/// Completes a launch whose direct call returned `answer`, which is not success. Throws the error
/// of the call. If `answer` is `not_called`, checks the arguments, records the uses of memory and
/// calls the driver.
WEIR_EXPORT void launch_slow(stream_ref stream, const launch_config& config,
                             const launched_kernel& launched, const argument_list& arguments,
                             direct_status answer);

/// Holds the arrays of an argument_list. The list is valid as long as this object and the arguments
/// exist.
template <class... Arguments>
class argument_owners {
 public:
  explicit argument_owners(const Arguments&... arguments) noexcept
      : memory_{arguments.region()..., {nullptr, 0, nullptr}}, each_{&arguments..., nullptr} {}
  [[nodiscard]] argument_list list(void** values) const noexcept {
    return {
        sizeof...(Arguments), argument_table<Arguments...>::shapes, values, memory_, each_, keep};
  }

 private:
  static constexpr keep_alive_ref (*keep[sizeof...(Arguments) + 1])(const void*) = {
      [](const void* argument) { return static_cast<const Arguments*>(argument)->keep(); }...,
      nullptr};

  region memory_[sizeof...(Arguments) + 1];
  const void* each_[sizeof...(Arguments) + 1];
};

template <class... Arguments>
[[gnu::cold, gnu::noinline]] void launch_slow_with(stream_ref stream, const launch_config& config,
                                                   const launched_kernel& launched, void** values,
                                                   direct_status answer,
                                                   const Arguments&... arguments) {
  const argument_owners<Arguments...> owned_arguments{arguments...};
  launch_slow(stream, config, launched, owned_arguments.list(values), answer);
}

/// Looks up the allocation of weir that contains the address. Returns true if its use on the stream
/// need not be recorded, or if there is none.
[[nodiscard]] WEIR_EXPORT bool is_address_untracked(const void* address,
                                                    CUstream_st* stream) noexcept;

/// Returns true if the use of the memory on the stream need not be recorded. That is so if weir has
/// not allocated the memory, it belongs to the stream, or it has recorded the stream already.
[[nodiscard]] inline bool is_argument_untracked(const region& memory, stream_ref stream) noexcept {
  if (memory.owner != nullptr) return memory.owner->is_untracked_on(stream);
  return memory.address == nullptr || is_address_untracked(memory.address, stream.get());
}

template <class... Arguments>
void launch_with(stream_ref stream, const launch_config& config, const launched_kernel& launched,
                 const Arguments&... arguments) {
  void* values[] = {arguments.value()..., nullptr};
  const kernel_info* const info = launched.target().info();
  direct_status answer = direct_status::not_called;
  if (info != nullptr && argument_table<Arguments...>::fits(*info) &&
      (is_argument_untracked(arguments.region(), stream) && ...)) [[likely]] {
    answer = launch_directly(*info, config, stream.get(), values);
    if (answer == direct_status::success) [[likely]] {
      return;
    }
  }
  launch_slow_with(stream, config, launched, values, answer, arguments...);
}

}  // namespace detail

/// Queues a launch of a kernel, and returns without waiting:
///
///   weir::launch(s, {.grid = {64}, .block = {256}}, saxpy, 2.0f, weir::in(x), weir::inout(y), n);
///   weir::launch(s, weir::grid(n), saxpy, 2.0f, weir::in(x), weir::inout(y), n);
///
/// Numbers, pointers and trivially copyable structs are passed by value without conversion, so 2.0
/// for a float parameter is an error. So is x.size(), which has 8 bytes, for an int parameter.
/// Memory is passed as a buffer, a span of device-accessible memory, a module_variable, or one of
/// these in in(), out() or inout() (launch_argument.hpp); the kernel receives the address. A
/// container in host memory, such as std::vector, does not compile. Memory must live until the
/// launch is done. Outside a capture, a buffer ensures that itself: it is freed only after the
/// launch. A part, a span or a pointer into the buffer ensures it, too; a pointer in a struct does
/// not, so call used_on() for its buffer.
/// An error names the line of this call. A wrapper passes the call site of its caller with the
/// kernel: launch(s, config, {k, at}, x).
///
/// Throws: before the driver is called, `invalid_value` for a wrong number of arguments, and for an
/// argument of another size or alignment than its parameter. The text names the parameter, the size
/// that it takes and the size that was given. The driver reports `invalid_value` for too many
/// threads or too much shared memory, and `launch_out_of_resources` for too many registers. A
/// failure inside the kernel is reported by the next call that checks the stream.
/// In a capture: allowed; the launch becomes a node. If the capture was begun through weir, the
/// graph keeps alive the kernel's module, and temporary buffers and shared pointers among the
/// arguments. Other memory must live until no launch of the graph uses it. A buffer's free waits
/// for the launches of the graph that were queued before it; graph_ref::keep() gives an owner to
/// the graph. A buffer that was allocated in the capture must be passed as an lvalue, not as a
/// temporary: its destructor has to add the free node before the capture ends. In a capture begun
/// through weir, the launch checks the grid, the block and the shared memory size before it calls
/// the driver. If the kernel cannot have them, the launch throws and the capture stays valid. In a
/// host function: throws `not_permitted`. Cost: one driver call and no allocation. Driver:
/// cuLaunchKernel; cuLaunchKernelEx if the configuration needs it.
template <class... Arguments>
void launch(stream_ref stream, const launch_config& config, detail::launched_kernel launched,
            Arguments&&... arguments) {
  detail::launch_with(stream, config, launched,
                      detail::argument_from(std::forward<Arguments>(arguments), launched.at())...);
}

/// Queues a launch with one thread per element, and returns without waiting: launch(s, grid(n),
/// kernel, ...). If the number of elements is 0, checks the arguments and launches nothing.
///
/// Throws: as launch() with a launch_config; `invalid_value` if the elements need more blocks than
/// a grid can have.
/// Driver: cuLaunchKernel; before it, once per kernel, cuOccupancyMaxPotentialBlockSize unless
/// grid() names a block size.
template <std::same_as<element_count> Elements, class... Arguments>
void launch(stream_ref stream, Elements elements, detail::launched_kernel launched,
            Arguments&&... arguments) {
  if (elements.size == 0) {
    using table = detail::argument_table<detail::argument_for<Arguments>...>;
    detail::check_arguments(launched.target(), table::size, table::shapes, "cuLaunchKernel",
                            launched.at());
    return;
  }
  detail::launch_with(stream, launched.target().config_for(elements, launched.at()), launched,
                      detail::argument_from(std::forward<Arguments>(arguments), launched.at())...);
}

}  // namespace weir
