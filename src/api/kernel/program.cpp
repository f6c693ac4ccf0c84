// SPDX-License-Identifier: Apache-2.0
// api/kernel/program.cpp - compiles CUDA C source to a module for a device.
#include <weir/core/to_string.hpp>
#include <weir/kernel/program.hpp>

#include "api/core/check.hpp"
#include "api/core/read_file.hpp"
#include "compile/cache/cache.hpp"
#include "compile/request.hpp"
#include "driver/engine_services.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace weir {

namespace {

constexpr const char* compile_call = "weir::program::compile";

// Returns the architecture in NVRTC's form, such as sm_90.
std::string architecture_of(device gpu, call_site at) {
  const compute_capability has = gpu.compute_capability(at);
  return fmt::format("sm_{}{}", has.major, has.minor);
}

compile::request request_of(const program& source, device gpu, call_site at) {
  const program_options& o = source.options();
  compile::request request;
  request.source = source.source();
  request.name = o.name;
  request.defines = o.defines;
  request.include_paths = o.include_paths;
  request.headers = o.headers;
  request.standard = o.standard;
  request.debug = o.debug;
  request.fast_math = o.fast_math;
  request.line_info = o.line_info;
  request.max_registers = o.max_registers;
  // Stays empty for an embedded device, whose code the compiler of the host makes.
  request.architecture =
      o.architecture.empty() && !gpu.is_embedded() ? architecture_of(gpu, at) : o.architecture;
  request.name_expressions = o.name_expressions;
  request.extra = o.extra;
  return request;
}

errc code_of(compile::obstacle obstacle) noexcept {
  switch (obstacle) {
    case compile::obstacle::no_compiler: return errc::jit_compiler_not_found;
    case compile::obstacle::machine: return errc::operating_system;
    case compile::obstacle::source: break;
  }
  return errc::invalid_source;
}

[[noreturn]] void throw_compile_error(const program& source, const compile::failure& failure,
                                      call_site at) {
  std::string object = source.options().name.empty()
                           ? "a program"
                           : fmt::format("program \"{}\"", source.options().name);
  std::string hint = failure.what();
  if (!failure.log().empty()) hint += ":\n" + failure.log();
  throw compile_error{code_of(failure.why()), std::move(object),  std::move(hint),
                      failure.log(),          failure.compiler(), at};
}

// Encloses a compilation, during which a deterministic schedule of the embedded driver runs no
// work.
class compilation_scope {
 public:
  compilation_scope() noexcept {
    if (steps_ != nullptr) steps_->begin_long_call();
  }
  compilation_scope(const compilation_scope&) = delete;
  compilation_scope& operator=(const compilation_scope&) = delete;
  ~compilation_scope() {
    if (steps_ != nullptr) steps_->end_long_call();
  }

 private:
  const detail::deterministic_services* const steps_ = detail::active_deterministic_services();
};

compile::product product_for(const program& source, device gpu, call_site at) {
  detail::require_outside_host_function(compile_call, gpu, at);
  const compile::request request = request_of(source, gpu, at);
  const compilation_scope scope;
  try {
    if (gpu.is_embedded()) {
      return compile::cached(request, compile::host_identity(),
                             [&] { return compile::for_host(request); });
    }
    return compile::cached(request, compile::nvrtc_identity(),
                           [&] { return compile::with_nvrtc(request); });
  } catch (const compile::failure& failure) {
    throw_compile_error(source, failure, at);
  }
}

}  // namespace

compile_error::compile_error(errc code, std::string object, std::string hint, std::string log,
                             std::string compiler, call_site at)
    : error{code, compile_call, std::move(object), std::move(hint), at},
      compiler_output_{std::make_shared<const std::pair<std::string, std::string>>(
          std::move(log), std::move(compiler))} {}

program::program(std::string source, program_options options)
    : source_{std::move(source)}, options_{std::move(options)} {}

program program::from_file(const std::string& path, program_options options, call_site at) {
  std::string source = detail::read_file(path, "weir::program::from_file", at);
  if (options.name.empty()) options.name = path;
  const std::string folder = std::filesystem::path{path}.parent_path();
  options.include_paths.insert(options.include_paths.begin(), folder.empty() ? "." : folder);
  return program{std::move(source), std::move(options)};
}

weir::module program::compile(device gpu, call_site at) const {
  compile::product compiled = product_for(*this, gpu, at);
  return module::load_as(gpu.primary_context(at), compiled.image, options_.name,
                         std::move(compiled.lowered_names), at);
}

program_image program::image_for(device gpu, call_site at) const {
  compile::product compiled = product_for(*this, gpu, at);
  return {std::move(compiled.image), std::move(compiled.log), std::move(compiled.lowered_names)};
}

}  // namespace weir
