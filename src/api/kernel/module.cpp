// SPDX-License-Identifier: Apache-2.0
// api/kernel/module.cpp - compiled code loaded onto a device.
#include <weir/kernel/module.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/read_file.hpp"
#include "api/device/make_current.hpp"
#include "api/kernel/image_bounds.hpp"
#include "api/kernel/module_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace weir {

using detail::check;
using detail::driver;
using detail::module_state;
using detail::throw_error;

namespace {

constexpr const char* load_call = "cuModuleLoadDataEx";

detail::keep_alive_ref make_owner(std::unique_ptr<module_state> state) noexcept {
  return detail::keep_alive_ref{*state.release()};
}

// A buffer for the messages of the driver's PTX compiler.
struct error_log {
  std::array<char, 8192> text{};
  [[nodiscard]] std::string trimmed() const {
    std::string all{text.data()};
    while (!all.empty() && (all.back() == '\n' || all.back() == ' ')) all.pop_back();
    return all;
  }
};

[[noreturn]] void throw_load_error(abi::CUresult answer, const std::string& label,
                                   const error_log& log, call_site at) {
  std::string hint = log.trimmed();
  if (hint.empty()) {
    switch (static_cast<errc>(answer)) {
      case errc::invalid_image:
      case errc::no_binary_for_gpu:
        hint =
            "the image is not for this device; load a cubin, fatbin or PTX for this GPU, "
            "load an image that weir compiled for an embedded device, or compile source with "
            "weir::program";
        break;
      case errc::invalid_ptx:
        hint =
            "the driver's compiler rejects this PTX; compile it to an older PTX version, or "
            "install a newer driver";
        break;
      default: break;
    }
  }
  if (hint.empty()) check(answer, load_call, {}, at);  // throws
  throw_error(static_cast<errc>(answer), load_call,
              label.empty() ? "a module" : fmt::format("module \"{}\"", label), std::move(hint),
              at);
}

std::string read_image_file(const std::string& path, call_site at) {
  constexpr const char* call = "weir::module::load";
  if (path.find('\n') != std::string::npos) {
    throw_error(errc::file_not_found, call, "a file",
                "the argument is text, not a file name; pass the text as "
                "std::as_bytes(std::span{text})",
                at);
  }
  return detail::read_file(path, call, at);
}

}  // namespace

weir::module module::load_as(context_ref context, std::span<const std::byte> image,
                             std::string label,
                             std::vector<std::pair<std::string, std::string>> lowered_names,
                             call_site at) {
  detail::require_outside_host_function(load_call, {}, at);
  if (detail::is_truncated(image)) {
    throw_error(
        errc::invalid_image, load_call,
        label.empty() ? "a module" : fmt::format("module \"{}\"", label),
        fmt::format("the image has {} bytes, fewer than its headers say; load the complete image",
                    image.size()),
        at);
  }
  // Copies the image and appends zeros. The driver requires text (PTX) to end with a zero, and must
  // not read beyond the caller's data.
  std::vector<std::byte> whole(image.size() + 16);
  std::ranges::copy(image, whole.begin());

  auto state = std::make_unique<module_state>(nullptr, context.get(), std::move(label),
                                              std::move(lowered_names));
  const detail::make_current current{context.get(), at};
  const detail::relaxed_capture_mode guard{at};
  error_log log;
  std::array<abi::CUjit_option, 2> options{abi::CU_JIT_ERROR_LOG_BUFFER,
                                           abi::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.text.data(), reinterpret_cast<void*>(log.text.size() - 1)};
  const abi::CUresult answer =
      driver().cuModuleLoadDataEx(&state->handle, whole.data(), 2, options.data(), values.data());
  if (answer != abi::CUDA_SUCCESS) throw_load_error(answer, state->label, log, at);
  return weir::module{make_owner(std::move(state))};
}

weir::module module::load(weir::device gpu, std::span<const std::byte> image, call_site at) {
  detail::require_outside_host_function(load_call, gpu, at);
  return load_as(gpu.primary_context(at), image, {}, {}, at);
}

weir::module module::load(context_ref context, std::span<const std::byte> image, call_site at) {
  return load_as(context, image, {}, {}, at);
}

weir::module module::load(weir::device gpu, const std::string& path, call_site at) {
  detail::require_outside_host_function(load_call, gpu, at);
  const std::string image = read_image_file(path, at);
  return load_as(gpu.primary_context(at), std::as_bytes(std::span{image}), path, {}, at);
}

weir::module module::adopt(CUmod_st* handle, context_ref context, call_site at) {
  constexpr const char* call = "weir::module::adopt";
  detail::require_outside_host_function(call, {}, at);
  if (handle == nullptr)
    throw_error(errc::invalid_handle, call, "null", "the module is null; pass an existing module",
                at);
  return weir::module{make_owner(
      std::make_unique<module_state>(handle, context.get(), std::string{}, detail::name_pairs{}))};
}

void module::close(call_site at) {
  if (closed()) return;
  constexpr const char* call = "cuModuleUnload";
  detail::require_outside_host_function(call, {}, at);
  auto* const loaded = static_cast<module_state*>(state_.get());
  if (__atomic_load_n(&loaded->shares, __ATOMIC_ACQUIRE) != 1) {
    state_ = {};  // the last of the other owners unloads the module
    return;
  }
  const detail::make_current current{loaded->context, at};
  const detail::relaxed_capture_mode guard{at};
  static_cast<void>(state_.release());  // owned_state takes over the only reference
  const std::unique_ptr<module_state> owned_state{loaded};
  check(driver().cuModuleUnload(owned_state->handle), call, {}, at);
}

module_state& module::state(const char* call, call_site at) const {
  detail::require_outside_host_function(call, {}, at);
  if (closed())
    throw_error(errc::closed, call, "closed module",
                "the module was closed or moved from; keep it open while it is used", at);
  return *static_cast<module_state*>(state_.get());
}

weir::device module::device(call_site at) const {
  return context_ref{state("cuCtxGetDevice", at).context}.device(at);
}

CUmod_st* module::get() const noexcept {
  return closed() ? nullptr : static_cast<const module_state*>(state_.get())->handle;
}

}  // namespace weir
