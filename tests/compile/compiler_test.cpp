// SPDX-License-Identifier: Apache-2.0
// tests/compile/compiler_test.cpp - finding and running the host's compiler, and its output.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compile/host/headers_folder.hpp"
#include "compile/host/private_folder.hpp"
#include "compiled.hpp"

namespace weir::test {

class HostCompiler : public Compiled {};

TEST_P(HostCompiler, ErrorsNameTheFileAndLineOfTheUser) {
  compile::request what;
  what.name = "kernels/scale.cu";
  what.source =
      "#include \"part.h\"\n__global__ void __launch_bounds__(32)\nscale(float* x) {\n  x[0] = "
      "part() + missing;\n}\n";
  what.headers = {{"part.h", "__device__ float part() { return 1; }\n"}};
  try {
    (void)compile::for_host(what);
    FAIL();
  } catch (const compile::failure& f) {
    EXPECT_NE(f.log().find("kernels/scale.cu:4:19: error: "), std::string::npos) << f.log();
    EXPECT_NE(std::string(f.what()).find("kernels/scale.cu:4:19: error: "), std::string::npos)
        << f.what();
    EXPECT_EQ(f.compiler(), compile::find_program(GetParam()));
  }
  what.headers = {{"part.h", "\n__device__ float part() { return nothing; }\n"}};
  what.name = "/somewhere/else/scale.cu";
  try {
    (void)compile::for_host(what);
    FAIL();
  } catch (const compile::failure& f) {
    EXPECT_NE(f.log().find("part.h:2:"), std::string::npos) << f.log();
    EXPECT_NE(f.log().find("/somewhere/else/scale.cu:1"), std::string::npos) << f.log();
    EXPECT_EQ(f.log().find("weir-headers"), std::string::npos) << f.log();
  }
  EXPECT_NE(refused("#include \"nowhere.h\"\n").find("program.cu:1:10: fatal error: "),
            std::string::npos);
  EXPECT_NE(
      refused("__global__ void k(int* x) {\n  if (x[0]) {\n  x[0] = 1;\n}\n").find("program.cu:4:"),
      std::string::npos);
  EXPECT_EQ(refused("__global__ void k(int* x) {\n  x[0] = (1;\n}\n").find("weir_module"),
            std::string::npos);
  EXPECT_NE(refused("\n#error on purpose\n").find("program.cu:2:2: error: "), std::string::npos);
  EXPECT_NE(refused("__device__ int f(int);\n__global__ void k(int* x) { *x = f(1); }")
                .find("undefined reference"),
            std::string::npos);
}

// These names are not taken for compiler options.
TEST_P(HostCompiler, NamesMayBeginWithADash) {
  compile::request what;
  what.name = "-x";
  what.source = "__global__ void k(int* x) { *x = missing; }\n";
  try {
    (void)compile::for_host(what);
    FAIL();
  } catch (const compile::failure& f) {
    EXPECT_NE(f.log().find("-x:1:"), std::string::npos) << f.log();
  }
}

TEST_P(HostCompiler, HeadersOutsideTheSourceFolderAreRefused) {
  for (const char* name : {"", ".", "../part.h", "/part.h", "deep/../../part.h"}) {
    compile::request what;
    what.headers = {{name, "#define ONE 1\n"}};
    try {
      (void)compile::for_host(what);
      ADD_FAILURE() << name;
    } catch (const compile::failure& f) {
      EXPECT_EQ(f.why(), compile::obstacle::source);
      EXPECT_NE(std::string(f.what()).find("header \"" + std::string(name) + "\""),
                std::string::npos)
          << f.what();
    }
  }
}

TEST_P(HostCompiler, AnEmptyIncludePathIsIgnored) {
  compile::request what;
  what.source = "__global__ void k(int* x) { *x = 1; }\n";
  what.include_paths = {"", "no such folder"};
  EXPECT_FALSE(compile::for_host(what).image.empty());
}

TEST_P(HostCompiler, WarningsAreInTheLog) {
  const compile::product p = made("__global__ void k(int* x) {\n  *x = 1 / 0;\n}");
  EXPECT_NE(p.log.find("program.cu:2:"), std::string::npos) << p.log;
  compile::request what;
  what.source = "__global__ void k(int* x) { *x = 1; }";
  for (what.debug = false; true; what.debug = true) {
    EXPECT_EQ(compile::for_host(what).log, "");
    if (what.debug) break;
  }
}

TEST_P(HostCompiler, OptionsReachTheCompiler) {
  const compile::private_folder folder;
  folder.write("include/answer.h", "#define ANSWER 42\n");
  compile::request what;
  what.source =
      "#include <answer.h>\n#include <sub/own.h>\nextern \"C\" __global__ void k(int* x) { x[0] = "
      "ANSWER; x[1] = OWN; "
      "x[2] = DEFINED; "
      "x[3] = EMPTY; x[4] = __cplusplus >= 202002L; }";
  what.include_paths = {(folder.path() / "include").string()};
  what.headers = {{"sub/own.h", "#define OWN 7\n"}};
  what.defines = {"DEFINED=5", "EMPTY"};
  what.standard = "c++20";
  what.fast_math = true;
  what.line_info = true;
  what.extra = {"-DEXTRA"};
  device_image image{compile::for_host(what)};
  int x[5];
  image.launch("k", {}, +x);
  EXPECT_EQ(x[0], 42);
  EXPECT_EQ(x[1], 7);
  EXPECT_EQ(x[2], 5);
  EXPECT_EQ(x[3], 1);
  EXPECT_EQ(x[4], 1);
}

// A program's macros apply to its own source only, whatever names the device's headers use.
TEST_P(HostCompiler, DefinesDoNotAffectTheDeviceHeaders) {
  compile::request what;
  what.source = "extern \"C\" __global__ void k(int* x) { x[0] = A + N + T(5) + sizeof(F); }";
  what.defines = {"A", "N=20", "T(n)=(n * 100)", "F=short"};
  device_image image{compile::for_host(what)};
  int x = 0;
  image.launch("k", {}, &x);
  EXPECT_EQ(x, 523);
}

TEST_P(HostCompiler, TheCompilerLeavesNoFiles) {
  const compile::private_folder folder;
  made("__global__ void k() {}");  // the device's headers stay until the process ends
  const char* const before = std::getenv("TMPDIR");
  const std::string old_value = before != nullptr ? before : "";
  setenv("TMPDIR", folder.path().c_str(), 1);
  made("__global__ void k() {}");
  (void)refused("__global__ void k() { syntax }");
  (void)refused("__global__ void k() { asm(\"ptx\"); }");
  if (before != nullptr)
    setenv("TMPDIR", old_value.c_str(), 1);
  else
    unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// The device's headers are written once, and again in a forked process or after they were removed.
TEST_P(HostCompiler, DeviceHeadersAreWrittenOncePerProcess) {
  const std::filesystem::path first = compile::headers_folder();
  EXPECT_EQ(compile::headers_folder(), first);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::filesystem::path own = compile::headers_folder();
    const bool good = own != first && std::filesystem::exists(own / "weir" / "prelude.h");
    std::filesystem::remove_all(own);
    _exit(good ? 0 : 1);
  }
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(first / "weir" / "prelude.h"));
  std::filesystem::remove_all(first);
  made("__global__ void k() {}");
  EXPECT_NE(compile::headers_folder(), first);
}

TEST_P(HostCompiler, TheCompilerInheritsNoDescriptors) {
  const int own = open("/dev/null", O_RDONLY);
  ASSERT_GT(own, 2);
  const compile::process_result seen = compile::run_process({"/bin/ls", "/proc/self/fd"}, "/");
  close(own);
  EXPECT_EQ(seen.output, "0\n1\n2\n3\n");  // the last one belongs to the listed folder
}

TEST_P(HostCompiler, TheCompilerIsFoundByARelativePath) {
  const compile::private_folder folder;
  std::filesystem::create_symlink(compile::find_program(GetParam()),
                                  folder.path() / "own-compiler");
  const std::string path = std::getenv("PATH");
  setenv("PATH", (std::filesystem::proximate(folder.path()).string() + ":" + path).c_str(), 1);
  setenv("WEIR_CXX", "own-compiler", 1);
  EXPECT_EQ(made("__global__ void k() {}").log, "");
  setenv("PATH", path.c_str(), 1);
}

// The temporary folder's name may contain characters that a shell interprets.
TEST_P(HostCompiler, PathsMayContainSpecialCharacters) {
  const compile::private_folder folder;
  const std::filesystem::path odd = folder.path() / "a b'c\"d$e;f";
  std::filesystem::create_directories(odd);
  std::ofstream{odd / "part.h"} << "#define PART 3\n";
  const char* const before = std::getenv("TMPDIR");
  const std::string old_value = before != nullptr ? before : "/tmp";
  setenv("TMPDIR", odd.c_str(), 1);
  compile::request what;
  what.name = (odd / "k.cu").string();
  what.include_paths = {odd.string()};
  what.source =
      "#include \"part.h\"\nextern \"C\" __global__ void k(int* x) { __syncthreads(); *x = PART; "
      "}\n";
  device_image image{compile::for_host(what)};
  int x = 0;
  image.launch("k", {}, &x);
  EXPECT_EQ(x, 3);
  what.source += "wrong\n";
  try {
    (void)compile::for_host(what);
    ADD_FAILURE();
  } catch (const compile::failure& f) {
    EXPECT_NE(f.log().find("k.cu:3:"), std::string::npos) << f.log();
  }
  setenv("TMPDIR", old_value.c_str(), 1);
}

TEST_P(HostCompiler, EqualSourcesHaveEqualImages) {
  const std::string source = "__device__ int x; __global__ void k(int* p) { *p = x; }";
  EXPECT_EQ(made(source).image, made(source).image);
}

TEST(HostCompilerChoice, AnErrorNamesTheMissingCompiler) {
  setenv("WEIR_CXX", "no-such-compiler", 1);
  try {
    (void)compile::host_identity();
    FAIL();
  } catch (const compile::failure& f) {
    EXPECT_NE(std::string(f.what()).find("WEIR_CXX is 'no-such-compiler'"), std::string::npos);
    EXPECT_EQ(f.why(), compile::obstacle::no_compiler);
  }
  // The program exists but is not a compiler, so it was run.
  setenv("WEIR_CXX", "/bin/false", 1);
  try {
    (void)compile::for_host({});
    FAIL();
  } catch (const compile::failure& f) {
    EXPECT_EQ(f.why(), compile::obstacle::source);
    EXPECT_EQ(f.compiler(), "/bin/false");
  }
  unsetenv("WEIR_CXX");
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  try {
    (void)compile::for_host({});
    FAIL();
  } catch (const compile::failure& f) {
    EXPECT_NE(std::string(f.what()).find("no C++ compiler"), std::string::npos);
    EXPECT_NE(std::string(f.what()).find("WEIR_CXX"), std::string::npos);
    EXPECT_TRUE(f.compiler().empty());
  }
  setenv("PATH", path.c_str(), 1);
}

TEST(HostCompilerChoice, EachCompilerHasItsOwnIdentity) {
  std::vector<std::string> all;
  for (const std::string& c : compilers()) {
    setenv("WEIR_CXX", c.c_str(), 1);
    all.push_back(compile::host_identity());
    EXPECT_EQ(all.back(), compile::host_identity());
  }
  unsetenv("WEIR_CXX");
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_NE(all[i], all[0]);
}

WEIR_WITH_EVERY_COMPILER(HostCompiler);

}  // namespace weir::test
