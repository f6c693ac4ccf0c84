// SPDX-License-Identifier: Apache-2.0
// program_test.cpp - source that is compiled at run time.
#include <weir/kernel/program.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "api/kernel/kernel_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class Program : public test::Kernels {
 protected:
  // The value that the kernel `store_it` of the source stores.
  [[nodiscard]] int stored(const program& what) {
    const module made = what.compile(gpu);
    launch(s, {}, made.kernel("store_it"), x);
    return values_of(x)[0];
  }
  [[nodiscard]] std::optional<compile_error> compile_failure(const program& what) const {
    try {
      static_cast<void>(what.compile(gpu));
    } catch (const compile_error& e) {
      return e;
    }
    return std::nullopt;
  }
};

constexpr const char* store_it = "extern \"C\" __global__ void store_it(int* x) { *x = VALUE; }\n";

TEST_F(Program, OptionsReachTheCompiler) {
  EXPECT_EQ(stored(program{store_it, {.defines = {"VALUE=3"}}}), 3);
  EXPECT_EQ(stored(program{std::string{"#include \"value.h\"\n"} + store_it,
                           {.headers = {{"value.h", "#define VALUE 4\n"}}}}),
            4);
  EXPECT_EQ(
      stored(program{
          std::string{"template <class T> concept anything = true;\n"} + store_it,
          {.defines = {"VALUE=5"}, .standard = "c++20", .fast_math = true, .line_info = true}}),
      5);
  EXPECT_EQ(stored(program{store_it, {.defines = {"VALUE=6"}, .debug = true}}), 6);
}

TEST_F(Program, AProgramFileFindsTheHeadersBesideIt) {
  const test::temporary_folder folder;
  std::ofstream{folder.path() / "store.cu"} << "#include \"value.h\"\n" << store_it;
  std::ofstream{folder.path() / "value.h"} << "#define VALUE 7\n";
  EXPECT_EQ(stored(program::from_file(folder.path() / "store.cu")), 7);
  // A cached product depends on the included files, too.
  std::ofstream{folder.path() / "value.h"} << "#define VALUE 8\n";
  EXPECT_EQ(stored(program::from_file(folder.path() / "store.cu")), 8);

  const auto failure =
      failure_of([&] { static_cast<void>(program::from_file(folder.path() / "none.cu")); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::file_not_found);
  EXPECT_NE(failure->object().find("none.cu"), std::string::npos);
  EXPECT_EQ(result_of([&] { static_cast<void>(program::from_file(folder.path())); }),
            errc::file_not_found);
}

// The lines are those of the program's source, although the compiler reads more.
TEST_F(Program, CompilerErrorsNameTheLinesOfTheSource) {
  const auto failure = compile_failure(
      program{"\n\n__global__ void f(int* x) { *x = undefined_name; }\n", {.name = "my.cu"}});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_source);
  EXPECT_NE(failure->log().find("undefined_name"), std::string::npos) << failure->log();
  EXPECT_TRUE(failure->log().find("my.cu(3)") != std::string::npos ||
              failure->log().find("my.cu:3:") != std::string::npos)
      << failure->log();
  EXPECT_FALSE(failure->compiler().empty());
  EXPECT_NE(std::string{failure->what()}.find("undefined_name"), std::string::npos)
      << failure->what();
  EXPECT_NE(std::string{failure->where().file_name()}.find("program_test"), std::string::npos);
  const compile_error copy = *failure;
  EXPECT_EQ(copy.log(), failure->log());
}

TEST_F(Program, AnUnknownNameExpressionIsAnError) {
  const auto failure = compile_failure(
      program{test::kernels_source, {.name_expressions = {"no_such_template<int>"}}});
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->log().find("no_such_template"), std::string::npos) << failure->log();
  if (gpu.is_embedded()) {
    EXPECT_TRUE(failure->log().starts_with("name expression no_such_template<int>:1:"))
        << failure->log();
  }
}

TEST_F(Program, AProgramReturnsItsImage) {
  const program what{store_it, {.defines = {"VALUE=9"}}};
  const std::vector<std::byte> image = what.image_for(gpu).bytes;
  const module made = module::load(gpu, image);
  launch(s, {}, made.kernel("store_it"), x);
  EXPECT_EQ(values_of(x)[0], 9);
}

TEST_F(Program, AProgramReturnsItsWarnings) {
  const program clean{store_it, {.defines = {"VALUE=1"}}};
  EXPECT_EQ(clean.image_for(gpu).warnings, "");
}

// Two modules of one product have separate variables.
TEST_F(Program, EachCompileReturnsAModuleOfItsOwn) {
  const module other = source.compile(gpu);
  launch(s, {}, code->kernel("read_variables"), x);
  EXPECT_EQ(values_of(x)[0], 17);
  launch(s, {}, code->kernel("read_variables"), x);
  EXPECT_EQ(values_of(x)[0], 18);
  launch(s, {}, other.kernel("read_variables"), x);
  EXPECT_EQ(values_of(x)[0], 17);
}

TEST_F(Program, CompiledProgramsAreCached) {
  const test::temporary_folder folder;
  const std::string before = std::getenv("WEIR_CACHE");
  ::setenv("WEIR_CACHE", folder.path().c_str(), 1);
  const program what{store_it, {.defines = {"VALUE=10"}}};
  const auto files = [&] {
    std::vector<std::filesystem::path> all;
    for (const auto& file : std::filesystem::directory_iterator{folder.path()})
      all.push_back(file.path());
    return all;
  };
  EXPECT_EQ(stored(what), 10);
  ASSERT_EQ(files().size(), 1u);
  const auto written = std::filesystem::last_write_time(files()[0]);
  EXPECT_EQ(stored(what), 10);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_GE(std::filesystem::last_write_time(files()[0]), written);
  std::filesystem::resize_file(files()[0], 100);
  EXPECT_EQ(stored(what), 10) << "a truncated product is compiled again";
  EXPECT_GT(std::filesystem::file_size(files()[0]), 100u);
  ::setenv("WEIR_CACHE", before.c_str(), 1);
}

TEST(ProgramWithoutACompiler, AnErrorSaysWhatToInstall) {
  const device gpu;
  if (!gpu.is_embedded()) GTEST_SKIP() << "NVRTC is loaded only once";
  const char* const before = std::getenv("WEIR_CXX");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("WEIR_CXX", "/no/such/compiler", 1);
  const auto failure = failure_of([&] { static_cast<void>(program{store_it}.compile(gpu)); });
  before == nullptr ? ::unsetenv("WEIR_CXX") : ::setenv("WEIR_CXX", kept.c_str(), 1);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::jit_compiler_not_found);
  EXPECT_NE(failure->hint().find("WEIR_CXX"), std::string::npos) << failure->what();
}

// A compiler that fails is not reported as missing.
TEST(ProgramWithoutACompiler, ACompilerWithoutTemporarySpaceIsNotReportedAsMissing) {
  const device gpu;
  if (!gpu.is_embedded()) GTEST_SKIP() << "NVRTC needs no files";
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/no/such/folder", 1);
  const program never_compiled{store_it, {.defines = {"VALUE=304"}}};
  const auto failure = failure_of([&] { static_cast<void>(never_compiled.compile(gpu)); });
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::operating_system);
  EXPECT_NE(failure->hint().find("TMPDIR"), std::string::npos) << failure->what();
}

}  // namespace
}  // namespace weir
