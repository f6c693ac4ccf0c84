// SPDX-License-Identifier: Apache-2.0
// module_test.cpp - loaded modules: their contents, and when they are unloaded.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/kernel/module.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

#include <algorithm>
#include <fstream>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "api/kernel/kernel_fixture.hpp"
#include "support/fault_table.hpp"
#include "support/temporary_folder.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::result_of;

class Module : public test::Kernels {
 protected:
  [[nodiscard]] int seven_by(const kernel& k) {
    launch(s, {}, k, x);
    return values_of(x)[0];
  }
};

TEST_F(Module, KernelsAreFoundByTheirSourceNames) {
  EXPECT_EQ(seven_by(code->kernel("inner::seven")), 7);
  EXPECT_EQ(seven_by(code->kernel("_ZN5inner5sevenEPi")), 7);
  EXPECT_EQ(code->kernel("scale<float>").parameters().size(), 3u);
  EXPECT_EQ(code->kernel("scale<double>").parameters()[1].size, sizeof(double));
  EXPECT_EQ(code->kernel("nothing").parameters().size(), 0u);
  EXPECT_EQ(code->kernel("fill"), code->kernel("fill"));
  EXPECT_NE(code->kernel("fill"), code->kernel("store"));

  // An image has no list of name expressions; template instances are found nevertheless.
  const module loaded = module::load(gpu, source.image_for(gpu).bytes);
  EXPECT_EQ(loaded.kernel("scale<double>").parameters()[1].size, sizeof(double));
  EXPECT_EQ(loaded.kernel("scale< double >").parameters()[1].size, sizeof(double));
}

TEST_F(Module, AnUnknownOrAmbiguousNameIsAnError) {
  const auto none = failure_of([&] { static_cast<void>(code->kernel("no_such")); });
  ASSERT_TRUE(none);
  EXPECT_EQ(none->result(), errc::not_found);
  EXPECT_NE(none->hint().find("fill"), std::string::npos) << none->hint();
  EXPECT_NE(none->object().find("kernels.cu"), std::string::npos) << none->object();
  const auto several = failure_of([&] { static_cast<void>(code->kernel("twice_there")); });
  ASSERT_TRUE(several);
  EXPECT_EQ(several->result(), errc::not_found);
  EXPECT_NE(several->hint().find("twice_there(float*)"), std::string::npos) << several->hint();
  EXPECT_EQ(result_of([&] { static_cast<void>(code->kernel("scale")); }), errc::not_found);
  const auto empty = failure_of([&] { static_cast<void>(code->kernel("")); });
  ASSERT_TRUE(empty);
  EXPECT_NE(empty->object().find("kernels.cu"), std::string::npos) << empty->what();
}

TEST_F(Module, AModuleListsItsKernels) {
  const std::vector<std::string> names = code->kernel_names();
  EXPECT_EQ(names.size(), 13u);
  EXPECT_EQ(std::ranges::count(names, "fill"), 1);
  EXPECT_EQ(std::ranges::count(names, "_ZN5inner5sevenEPi"), 1);
}

TEST_F(Module, VariablesAreUsableAsMemory) {
  const module_variable<int> counter = code->global<int>("counter");
  EXPECT_EQ(counter.size(), 1u);
  const module_variable<int> table = code->global<int>("table");
  EXPECT_EQ(table.size(), 4u);
  EXPECT_EQ(table.size_bytes(), 4 * sizeof(int));
  fill(s, counter, 30);
  const std::vector<int> other{10, 20, 30, 40};
  copy(s, other, table);
  launch(s, {}, code->kernel("read_variables"), x);
  EXPECT_EQ(values_of(x)[0], 30);
  EXPECT_EQ(values_of(x)[4], 40);
  std::vector<int> now(1);
  copy(s, code->global<int>("counter"), now);
  s.sync();
  EXPECT_EQ(now[0], 18);
  // A variable can be passed as an argument, as memory.
  launch(s, {}, code->kernel("store"), code->global<int>("counter"), 99);
  copy(s, counter, now);
  s.sync();
  EXPECT_EQ(now[0], 99);
}

// A const variable lies in memory that the host can write. Whether kernels see the change depends
// on the compiler.
TEST_F(Module, ConstantsAreMemory) {
  const program constants{
      "__constant__ const int limits[2] = {5, 6};\n"
      "__device__ const int* const ends[2] = {limits, limits + 1};\n"
      "extern \"C\" __global__ void read(int* x) { x[0] = *ends[x[0] & 1]; }\n",
      {.name_expressions = {"&limits"}}};
  const module made = constants.compile(gpu);
  const module_variable<int> limits = made.global<int>("&limits");
  const std::vector<int> wanted{8, 9};
  std::vector<int> now(2);
  copy(s, limits, now);
  copy(s, wanted, limits);
  s.sync();
  EXPECT_EQ(now, (std::vector{5, 6}));
  copy(s, limits, now);
  s.sync();
  EXPECT_EQ(now, wanted);
}

TEST_F(Module, AVariableOfTheWrongSizeIsRefused) {
  EXPECT_EQ(code->global<float[8]>("series").size(), 8u);
  const auto failure = failure_of([&] { static_cast<void>(code->global<float[7]>("series")); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("32 bytes"), std::string::npos) << failure->hint();
  EXPECT_NE(failure->hint().find("28"), std::string::npos) << failure->hint();
  EXPECT_EQ(result_of([&] { static_cast<void>(code->global<double>("counter")); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(code->global<int>("no_such")); }), errc::not_found);
  const auto of_a_kernel = failure_of([&] { static_cast<void>(code->global<int>("fill")); });
  ASSERT_TRUE(of_a_kernel);
  EXPECT_NE(of_a_kernel->object().find("kernels.cu"), std::string::npos) << of_a_kernel->what();
  EXPECT_NE(of_a_kernel->hint().find("\"fill\""), std::string::npos) << of_a_kernel->what();
  const auto with_its_namespace =
      failure_of([&] { static_cast<void>(code->global<int>("&inner::no_such")); });
  ASSERT_TRUE(with_its_namespace);
  EXPECT_NE(with_its_namespace->hint().find("(\"&inner::no_such\")"), std::string::npos)
      << with_its_namespace->what();
}

TEST_F(Module, AModuleIsLoadedFromAFile) {
  const test::temporary_folder folder;
  const std::vector<std::byte> image = source.image_for(gpu).bytes;
  const std::string path = folder.path() / "kernels.image";
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(image.data()),
                                              static_cast<std::streamsize>(image.size()));
  EXPECT_EQ(seven_by(module::load(gpu, path).kernel("inner::seven")), 7);
  EXPECT_EQ(result_of([&] { static_cast<void>(module::load(gpu, path + "x")); }),
            errc::file_not_found);
  EXPECT_EQ(result_of([&] { static_cast<void>(module::load(gpu, folder.path().string())); }),
            errc::file_not_found);
  EXPECT_EQ(result_of([&] { static_cast<void>(module::load(gpu, ".version 7.0\n")); }),
            errc::file_not_found);
}

TEST_F(Module, AnInvalidImageIsRefused) {
  const std::string junk = "this is no image of any kind";
  EXPECT_EQ(
      result_of([&] { static_cast<void>(module::load(gpu, std::as_bytes(std::span{junk}))); }),
      errc::invalid_image);
  EXPECT_EQ(result_of([&] { static_cast<void>(module::load(gpu, std::span<const std::byte>{})); }),
            errc::invalid_image);
  const std::string bad_ptx = ".version 7.0\nthis is no PTX\n";
  EXPECT_EQ(
      result_of([&] { static_cast<void>(module::load(gpu, std::as_bytes(std::span{bad_ptx}))); }),
      errc::invalid_ptx);
  const std::vector<std::byte> image = source.image_for(gpu).bytes;
  for (const std::size_t size : {image.size() / 2, image.size() - 1, std::size_t{64}}) {
    const auto failure =
        failure_of([&] { static_cast<void>(module::load(gpu, std::span{image}.first(size))); });
    ASSERT_TRUE(failure) << size;
    EXPECT_EQ(failure->result(), errc::invalid_image) << size;
  }
}

TEST_F(Module, AClosedModuleThrowsClosed) {
  module moved = std::move(*code);
  EXPECT_TRUE(code->closed());
  EXPECT_EQ(code->get(), nullptr);
  EXPECT_EQ(result_of([&] { static_cast<void>(code->kernel("fill")); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(code->global<int>("counter")); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(code->kernel_names()); }), errc::closed);
  moved.close();
  moved.close();
  EXPECT_TRUE(moved.closed());
}

TEST_F(Module, KernelsAndVariablesKeepTheModuleLoaded) {
  drain_deferred();
  fault_table calls;
  kernel seven = code->kernel("inner::seven");
  std::optional<module_variable<int>> counter = code->global<int>("counter");
  code->close();
  EXPECT_EQ(seven_by(seven), 7);
  kernel copied = seven;
  seven = {};
  EXPECT_EQ(seven_by(copied), 7);
  copied = {};
  fill(s, *counter, 1);
  s.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuModuleUnload), 0);
  counter.reset();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuModuleUnload), 1);
}

// Queued kernels run to their end.
TEST_F(Module, AModuleIsUnloadedAfterItsWork) {
  launch(s, grid(x.size()), code->kernel("fill"), x, 5, 1000);
  code.reset();
  drain_deferred();
  EXPECT_EQ(values_of(x)[999], 5);
}

// Unloading would break a capture (kernel.module_load_in_capture) and is deferred. Loading is
// allowed.
TEST_F(Module, AModuleIsUnloadedAfterTheCapture) {
  drain_deferred();
  fault_table calls;
  const graph g = capture(s, [&] {
    const module loaded = source.compile(gpu);
    static_cast<void>(loaded.kernel("fill"));
    code.reset();
    drain_deferred();
    EXPECT_EQ(calls.count(&driver_table::cuModuleUnload), 0);
    fill(s, x, 1);
  });
  EXPECT_EQ(g.node_count(), 1u);
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuModuleUnload), 2);
}

TEST_F(Module, ClosingBreaksNoCapture) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    code->close();
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(Module, AForeignModuleIsAdopted) {
  const context_scope current{gpu};
  const std::vector<std::byte> image = source.image_for(gpu).bytes;
  abi::CUmodule raw = nullptr;
  ASSERT_EQ(detail::driver().cuModuleLoadData(&raw, image.data()), abi::CUDA_SUCCESS);
  {
    const module adopted = module::adopt(raw, gpu.primary_context());
    EXPECT_EQ(adopted.get(), raw);
    EXPECT_EQ(adopted.device(), gpu);
    EXPECT_EQ(seven_by(adopted.kernel("inner::seven")), 7);
  }
  EXPECT_EQ(result_of([&] { static_cast<void>(module::adopt(nullptr, gpu.primary_context())); }),
            errc::invalid_handle);
}

TEST_F(Module, HostFunctionsMayNotUseModules) {
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([&] { static_cast<void>(code->kernel("fill")); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

}  // namespace
}  // namespace weir
