// weir/kernel/module.hpp - compiled code, loaded onto a device: its kernels and its variables.
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

struct found_variable {
  void* address = nullptr;
  std::size_t bytes = 0;
};

}  // namespace detail

// A __device__, __constant__ or __managed__ variable of a module, which it keeps loaded. It has
// data() and size(), so copy() and fill() take it like a buffer; the address is the device's. A
// constant one is written between launches, never while a kernel reads it. Cheap to copy. Thread
// safety: as any object.
template <class T>
class module_variable {
  static_assert(std::is_trivially_copyable_v<T>, "copies move plain bytes");

 public:
  using value_type = T;

  module_variable(T* data, std::size_t size, detail::keep_alive_ref module) noexcept
      : data_{data}, size_{size}, module_{std::move(module)} {}

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  // For launches and for code that takes spans; the module has to stay.
  operator std::span<T>() const noexcept { return {data_, size_}; }

 private:
  T* data_;
  std::size_t size_;
  detail::keep_alive_ref module_;
};

// Compiled code in the primary context of a device, or in another one. It comes from a program
// (program.hpp), or from bytes or a file that a compiler made: a cubin, a fatbin or PTX for a GPU,
// a shared object of weir's for an embedded device. Its variables are its own: every load has them
// anew, as they are initialised in the source. Move-only; moved-from and closed ones answer
// `closed` when used. Kernels and variables that were taken from it keep it loaded, and so do
// graphs that have launches of it, where the capture was begun through weir. Thread safety: looking
// up from any thread; moving and closing as any object. In a host function: looking up and loading
// are refused (not_permitted). In a capture: allowed; drivers before CUDA 12.3 cannot load while
// anybody captures.
class WEIR_EXPORT module {
 public:
  // Loads it. Refused as the driver does: invalid_image, no_binary_for_gpu (for another kind of
  // device), invalid_ptx, with the log of the driver's compiler in the text; and invalid_image by
  // weir for an image that was cut short. Text is given as std::as_bytes(std::span{text}).
  // cuModuleLoadDataEx.
  [[nodiscard]] static module load(weir::device gpu, std::span<const std::byte> image,
                                   call_site at = call_site::current());
  [[nodiscard]] static module load(context_ref context, std::span<const std::byte> image,
                                   call_site at = call_site::current());
  // A file of one of those kinds. One that cannot be read: file_not_found, with the reason in the
  // text.
  [[nodiscard]] static module load(weir::device gpu, const std::string& path,
                                   call_site at = call_site::current());
  // Takes over a module of somebody else's, to be unloaded by us, with the context that it is in.
  // Null is refused (invalid_handle).
  [[nodiscard]] static module adopt(CUmod_st* handle, context_ref context,
                                    call_site at = call_site::current());

  // `inline`, for a line that begins with `module` looks like another language construct to some
  // compilers.
  inline module(module&&) noexcept = default;
  inline module& operator=(module&&) noexcept = default;
  // Lets go as close() does. A driver may wait for the device's work before it unloads, so this is
  // left to weir's own thread, and put off while a capture is open. What fails goes to
  // set_unhandled_error_handler.
  ~module() = default;

  // Unloads it now and reports what fails, unless a kernel, a variable or a graph keeps it: then it
  // goes with the last of those. May wait for work of the device. Does nothing a second time.
  // cuModuleUnload.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept { return state_.get() == nullptr; }

  // A kernel by its name: as the linker knows it ("_Z5scalePff"); as the source has it, if only one
  // has that name
  // ("scale", "ns::scale"); or by a name expression of the program ("scale<float>"). Else:
  // not_found, with the names that there are. cuModuleGetFunction, and once a kernel
  // cuFuncGetParamInfo.
  [[nodiscard]] weir::kernel kernel(std::string_view name,
                                    call_site at = call_site::current()) const;
  // All of them, as the linker knows them. cuModuleEnumerateFunctions, cuFuncGetName.
  [[nodiscard]] std::vector<std::string> kernel_names(call_site at = call_site::current()) const;

  // A variable as elements of T: all of them if it is an array. By the linker's name, which for
  // variables outside of namespaces is that of the source, or by a name expression ("&ns::table").
  // not_found if there is none; invalid_value, with both sizes in the text, if it is no whole
  // number of T. T may be an array itself, which fixes the extent: global<float[256]>("table").
  // cuModuleGetGlobal.
  template <class T>
  [[nodiscard]] module_variable<std::remove_extent_t<T>> global(
      std::string_view name, call_site at = call_site::current()) const {
    using element = std::remove_extent_t<T>;
    const detail::found_variable found =
        find_variable(name, sizeof(T), std::is_bounded_array_v<T>, at);
    return {static_cast<element*>(found.address), found.bytes / sizeof(element), state_};
  }

  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  // Null if it is closed.
  [[nodiscard]] CUmod_st* get() const noexcept;

 private:
  friend class program;
  explicit module(detail::keep_alive_ref state) noexcept : state_{std::move(state)} {}
  [[nodiscard]] static module load_as(
      context_ref context, std::span<const std::byte> image, std::string label,
      std::vector<std::pair<std::string, std::string>> lowered_names, call_site at);
  [[nodiscard]] detail::module_state& state(const char* call, call_site at) const;
  [[nodiscard]] detail::found_variable find_variable(std::string_view name, std::size_t bytes,
                                                     bool exactly, call_site at) const;

  detail::keep_alive_ref state_;
};

}  // namespace weir

// What it names stays where it is when it goes: a temporary one may be copied to and from.
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<weir::module_variable<T>> = true;
