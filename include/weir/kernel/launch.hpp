// weir/kernel/launch.hpp - kernels run in stream order, with arguments that are checked first.
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

// The kernel of a launch and the line of the launch. Arguments come last there, so the line cannot.
class launched_kernel {
 public:
  launched_kernel(const kernel& what, call_site at = call_site::current()) noexcept
      : what_{&what}, at_{at} {}
  [[nodiscard]] const kernel& what() const noexcept { return *what_; }
  [[nodiscard]] call_site at() const noexcept { return at_; }

 private:
  const kernel* what_;
  call_site at_;
};

// The arguments of one type of launch, known when the program is compiled.
template <class... Arguments>
struct argument_table {
  static constexpr std::size_t size = sizeof...(Arguments);
  static constexpr argument_shape shapes[size + 1] = {Arguments::shape...,
                                                      {0, 1, memory_access::unknown}};

  // Do they have the sizes that the kernel's parameters have, and may they lie where those lie?
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

// Arguments out of the hot path.
struct argument_list {
  std::size_t size;
  const argument_shape* shapes;
  void** values;
  const region* memory;  // an address of null for what is none
  // What a graph has to keep for it, taken over or shared; nothing for most.
  const void* const* arguments;
  keep_alive_ref (*const* keep)(const void* argument);
};

// Throws what says which argument does not fit which parameter, if one does not. Refuses no kernel.
WEIR_EXPORT void check_arguments(const kernel& what, std::size_t count,
                                 const argument_shape* shapes, const char* call, call_site at);

// A direct call (direct_call.hpp), for a plain launch whose arguments fit.
WEIR_EXPORT errc launch_directly(const kernel_info& what, const launch_config& config,
                                 CUstream_st* stream, void** values);
// After one that did not succeed: throws what it answered, or, if the driver was not asked, makes
// the whole call.
WEIR_EXPORT void launch_slow(stream_ref stream, const launch_config& config,
                             const launched_kernel& what, const argument_list& arguments,
                             errc answer);

// Their list, for as long as they and this are there.
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
                                                   const launched_kernel& what, void** values,
                                                   errc answer, const Arguments&... arguments) {
  const argument_owners<Arguments...> all{arguments...};
  launch_slow(stream, config, what, all.list(values), answer);
}

// Has nothing to be remembered of memory that is used on the stream?
[[nodiscard]] inline bool is_untracked(const region& memory, stream_ref stream) noexcept {
  return memory.owner == nullptr || memory.owner->is_untracked_on(stream);
}

template <class... Arguments>
void launch_with(stream_ref stream, const launch_config& config, const launched_kernel& what,
                 const Arguments&... arguments) {
  void* values[] = {arguments.value()..., nullptr};
  const kernel_info* const info = what.what().info();
  errc answer = not_called;
  if (info != nullptr && argument_table<Arguments...>::fits(*info) &&
      (is_untracked(arguments.region(), stream) && ...)) [[likely]] {
    answer = launch_directly(*info, config, stream.get(), values);
    if (answer == errc::success) [[likely]] {
      return;
    }
  }
  launch_slow_with(stream, config, what, values, answer, arguments...);
}

}  // namespace detail

// Queues a launch of the kernel with these arguments, and returns:
//
//   weir::launch(s, {.grid = {64}, .block = {256}}, saxpy, 2.0f, weir::in(x), weir::inout(y), n);
//   weir::launch(s, weir::grid(n), saxpy, 2.0f, weir::in(x), weir::inout(y), n);
//
// Numbers, pointers and trivially copyable structs are given by value, as they are: nothing is
// converted, so that 2.0 for a float is an error. Memory is given as a buffer, a span of memory
// that the device reaches, a module_variable, or one of these in in(), out() or inout()
// (launch_argument.hpp), and the kernel gets the address. Memory of the host does not compile.
// Buffers have to live until the launch is done, of which those of weir take care themselves.
// Refused before the driver sees it (invalid_value): another number of arguments than the kernel
// has parameters, one of another size, one whose alignment its parameter does not have; the text
// has the parameter, what it takes and what was given. The driver refuses what the device cannot
// do: too many threads, too much shared memory (invalid_value), too many registers
// (launch_out_of_resources). What goes wrong in the kernel is told by the next call that looks at
// the stream. In a capture: allowed; the launch becomes a node. Where the capture was begun through
// weir the graph keeps the kernel's module, and the temporary buffers and shared pointers among the
// arguments; a buffer that the capture itself makes is named, so that its end frees it there. A
// grid, a block or shared memory that the kernel cannot have is then refused before the driver sees
// it, and the capture lives on. In a host function: refused. Errors name the line of the call; code
// that wraps it passes its own caller's with the kernel: launch(s, config, {k, at}, x).
// cuLaunchKernel, for more than a plain launch cuLaunchKernelEx; nothing else, and nothing is
// allocated.
template <class... Arguments>
void launch(stream_ref stream, const launch_config& config, detail::launched_kernel what,
            Arguments&&... arguments) {
  detail::launch_with(stream, config, what,
                      detail::argument_from(std::forward<Arguments>(arguments), what.at())...);
}

template <std::same_as<element_count> Elements, class... Arguments>
void launch(stream_ref stream, Elements elements, detail::launched_kernel what,
            Arguments&&... arguments) {
  if (elements.size == 0) {
    using table = detail::argument_table<detail::argument_for<Arguments>...>;
    detail::check_arguments(what.what(), table::size, table::shapes, "cuLaunchKernel", what.at());
    return;
  }
  detail::launch_with(stream, what.what().config_for(elements, what.at()), what,
                      detail::argument_from(std::forward<Arguments>(arguments), what.at())...);
}

}  // namespace weir
