// SPDX-License-Identifier: Apache-2.0
// weir/kernel/module.hpp - compiled code loaded onto a device: its kernels and its variables.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/kernel/kernel.hpp>
#include <weir/memory/copy.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

namespace detail {

struct module_state;

/// Whether a variable must have exactly the size of the requested type, or a multiple of it.
enum class size_match : unsigned char { exact, multiple };

/// The address and the size of a variable on the device.
struct found_variable {
  void* address = nullptr;
  std::size_t bytes = 0;
};

}  // namespace detail

/// A __device__, __constant__ or __managed__ variable of a module. Cheap to copy; each copy keeps
/// the module loaded.
///
/// It has data() and size(), so copy() and fill() accept it like a buffer. The address is valid on
/// the device. Write a constant variable between launches, never while a kernel reads it.
///
/// Thread safety: const members may be called from any thread; assigning needs exclusive access.
template <class T>
class module_variable {
  static_assert(std::is_trivially_copyable_v<T>, "copies move plain bytes");

 public:
  using value_type = T;

  /// Refers to `size` elements at `data`, and keeps `module` loaded. Called by module::global().
  module_variable(T* data, std::size_t size, detail::keep_alive_ref module) noexcept
      : data_{data}, size_{size}, module_{std::move(module)} {}

  /// Returns the address of the variable on the device.
  [[nodiscard]] T* data() const noexcept { return data_; }
  /// Returns the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns the size in bytes.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  /// Converts to a span, for launches and for code that takes spans. The span does not keep the
  /// module loaded.
  operator std::span<T>() const noexcept { return {data_, size_}; }

 private:
  T* data_;
  std::size_t size_;
  detail::keep_alive_ref module_;
};

/// Owns compiled code that is loaded in the primary context of a device, or in another context.
///
/// The code comes from a program (program.hpp), or from bytes or a file from a compiler. For a GPU
/// that is a cubin, a fatbin or PTX; for an embedded device, it is a shared object that weir has
/// compiled. If an image is loaded twice, each module has variables of its own, initialised as in
/// the source. kernel and module_variable objects keep the module loaded. So do graphs with
/// launches of its kernels, if their capture was begun through weir. Move-only. A moved-from or
/// closed module throws `closed` when used.
///
/// In a capture: allowed. Drivers before CUDA 12.3 cannot load a module while any thread captures.
/// In a host function: looking up and loading throw `not_permitted`.
/// Thread safety: looking up is allowed from any thread; moving and closing need exclusive access.
class WEIR_EXPORT module {
 public:
  /// Loads an image into the primary context of a device. Pass text as
  /// std::as_bytes(std::span{text}).
  ///
  /// Throws: `invalid_image` for bytes that are no image, and for a truncated image.
  /// `no_binary_for_gpu` for code of another kind of device. `invalid_ptx` if PTX cannot be
  /// compiled; the text contains the log of the driver's compiler.
  /// Driver: cuModuleLoadDataEx.
  [[nodiscard]] static module load(weir::device gpu, std::span<const std::byte> image,
                                   call_site at = call_site::current());
  /// Loads an image into a context.
  ///
  /// Throws: as load() of an image for a device.
  /// Driver: cuModuleLoadDataEx.
  [[nodiscard]] static module load(context_ref context, std::span<const std::byte> image,
                                   call_site at = call_site::current());
  /// Loads an image from a file into the primary context of a device.
  ///
  /// Throws: `file_not_found`, with the reason in the text, if the file cannot be read; else as
  /// load() of an image.
  /// Driver: cuModuleLoadDataEx.
  [[nodiscard]] static module load(weir::device gpu, const std::string& path,
                                   call_site at = call_site::current());
  /// Takes ownership of a module of the driver, which is loaded in `context`.
  ///
  /// Throws: `invalid_handle` if `handle` is null.
  [[nodiscard]] static module adopt(CUmod_st* handle, context_ref context,
                                    call_site at = call_site::current());

  // `inline`, since some compilers take a line that begins with `module` for a module declaration.
  inline module(module&&) noexcept = default;
  inline module& operator=(module&&) noexcept = default;
  /// Releases the module like close(). The driver may wait for the device's work before it unloads,
  /// so weir's own thread unloads it, after all open captures have ended. Errors go to
  /// set_unhandled_error_handler.
  ~module() = default;

  /// Releases the module and reports errors. The code is unloaded now or, if kernels, variables or
  /// graphs keep it loaded, with the last of them. May wait for work of the device. A second call
  /// does nothing.
  ///
  /// Driver: cuModuleUnload.
  void close(call_site at = call_site::current());
  /// Returns true if the object owns no module: it was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return state_.get() == nullptr; }

  /// Returns a kernel by name. `name` is the linker's name ("_Z5scalePff"), the name in the source
  /// if only one kernel has that name ("scale", "ns::scale"), or a name expression of the program
  /// ("scale<float>").
  ///
  /// Throws: `not_found`; the text lists the kernels that the module has.
  /// Driver: cuModuleGetFunction; once per kernel cuFuncGetParamInfo.
  [[nodiscard]] weir::kernel kernel(std::string_view name,
                                    call_site at = call_site::current()) const;
  /// Returns the linker's names of all kernels.
  ///
  /// Driver: cuModuleEnumerateFunctions, cuFuncGetName.
  [[nodiscard]] std::vector<std::string> kernel_names(call_site at = call_site::current()) const;

  /// Returns a variable as elements of T: all elements if it is an array. T may be an array type,
  /// which fixes the extent: global<float[256]>("table").
  /// `name` is the linker's name, which outside of namespaces is the name in the source, or a name
  /// expression ("&ns::table").
  ///
  /// Throws: `not_found`. `invalid_value`, with both sizes in the text, if the size of the variable
  /// is not a multiple of sizeof(T) or, if T is an array type, not equal to it.
  /// Driver: cuModuleGetGlobal.
  template <class T>
  [[nodiscard]] module_variable<std::remove_extent_t<T>> global(
      std::string_view name, call_site at = call_site::current()) const {
    using element = std::remove_extent_t<T>;
    const detail::found_variable found = find_variable(
        name, sizeof(T),
        std::is_bounded_array_v<T> ? detail::size_match::exact : detail::size_match::multiple, at);
    return {static_cast<element*>(found.address), found.bytes / sizeof(element), state_};
  }

  /// Returns the device of the module's context.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  /// Returns the driver's handle (CUmodule); null if the object is closed.
  [[nodiscard]] CUmod_st* get() const noexcept;

 private:
  friend class program;
  explicit module(detail::keep_alive_ref state) noexcept : state_{std::move(state)} {}
  [[nodiscard]] static module load_as(
      context_ref context, std::span<const std::byte> image, std::string label,
      std::vector<std::pair<std::string, std::string>> lowered_names, call_site at);
  [[nodiscard]] detail::module_state& state(const char* call, call_site at) const;
  [[nodiscard]] detail::found_variable find_variable(std::string_view name, std::size_t bytes,
                                                     detail::size_match match, call_site at) const;

  detail::keep_alive_ref state_;
};

}  // namespace weir

/// A module_variable does not own the elements, so a temporary one may be copied from and to.
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<weir::module_variable<T>> = true;
