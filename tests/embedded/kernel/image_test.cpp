// SPDX-License-Identifier: Apache-2.0
// image_test.cpp - invalid module images and their errors. None of their code runs.
#include "image_fixture.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <elf.h>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weir::embedded {
namespace {

using Image = memory_test;

CUresult load(const void* image) {
  CUmodule made = nullptr;
  const CUresult status = driver.cuModuleLoadData(&made, image);
  if (status == CUDA_SUCCESS) {
    EXPECT_EQ(driver.cuModuleUnload(made), CUDA_SUCCESS);
  } else {
    EXPECT_EQ(made, nullptr);
  }
  return status;
}

// Bytes at the end of a mapping: the next page is not accessible.
class bytes_at_the_edge {
 public:
  explicit bytes_at_the_edge(std::string_view bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t whole = (bytes.size() + page - 1) / page * page;
    extent_ = whole + page;
    base_ = static_cast<char*>(
        mmap(nullptr, extent_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(mprotect(base_ + whole, page, PROT_NONE), 0);
    at_ = base_ + whole - bytes.size();
    std::memcpy(at_, bytes.data(), bytes.size());
  }
  ~bytes_at_the_edge() { munmap(base_, extent_); }
  bytes_at_the_edge(const bytes_at_the_edge&) = delete;
  bytes_at_the_edge& operator=(const bytes_at_the_edge&) = delete;

  [[nodiscard]] const void* get() const { return at_; }

 private:
  char* base_ = nullptr;
  std::size_t extent_ = 0;
  char* at_ = nullptr;
};

Elf64_Ehdr header_of(const std::string& image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  return header;
}
std::string with_header(std::string image, const Elf64_Ehdr& header) {
  std::memcpy(image.data(), &header, sizeof header);
  return image;
}

TEST_F(Image, AnImageIsNotReadPastItsEnd) {
  EXPECT_EQ(load(bytes_at_the_edge{numbers_image()}.get()), CUDA_SUCCESS);
}

TEST_F(Image, JunkIsAnInvalidImage) {
  EXPECT_EQ(load(""), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load("this is not a module"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(bytes_at_the_edge{std::string_view{"\0", 1}}.get()), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(bytes_at_the_edge{"\x7f"
                                   "ELX"}
                     .get()),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(std::string(4096, '\xff').data()), CUDA_ERROR_INVALID_IMAGE);
}

// The end of the memory before the end of the image is detected.
TEST_F(Image, ATruncatedImageIsInvalid) {
  const std::string& whole = numbers_image();
  for (const std::size_t size :
       {std::size_t{4}, std::size_t{63}, std::size_t{64}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_EQ(load(bytes_at_the_edge{std::string_view{whole}.substr(0, size)}.get()),
              CUDA_ERROR_INVALID_IMAGE)
        << size;
  }
}

// Flipping one header bit makes the image invalid, unless that bit is unused.
TEST_F(Image, ACorruptHeaderDoesNotCrash) {
  for (std::size_t bit = 0; bit < sizeof(Elf64_Ehdr) * 8; ++bit) {
    std::string image = numbers_image();
    image[bit / 8] = static_cast<char>(image[bit / 8] ^ (1 << bit % 8));
    const CUresult status = load(bytes_at_the_edge{image}.get());
    EXPECT_TRUE(status == CUDA_SUCCESS || status == CUDA_ERROR_INVALID_IMAGE ||
                status == CUDA_ERROR_NO_BINARY_FOR_GPU)
        << "bit " << bit << ": " << status;
  }
}

// These sizes exceed any file.
TEST_F(Image, AnImageWithOverflowingSizesIsInvalid) {
  Elf64_Ehdr header = header_of(numbers_image());
  header.e_shoff = ~std::uint64_t{0} - 63;
  EXPECT_EQ(load(with_header(numbers_image(), header).data()), CUDA_ERROR_INVALID_IMAGE);
  header = header_of(numbers_image());
  header.e_phoff = ~std::uint64_t{0} - 63;
  EXPECT_EQ(load(with_header(numbers_image(), header).data()), CUDA_ERROR_INVALID_IMAGE);
  header = header_of(numbers_image());
  std::string image = numbers_image();
  Elf64_Shdr last;
  const std::size_t at = header.e_shoff + (header.e_shnum - 1) * sizeof last;
  std::memcpy(&last, image.data() + at, sizeof last);
  last.sh_size = ~std::uint64_t{0};
  std::memcpy(image.data() + at, &last, sizeof last);
  EXPECT_EQ(load(image.data()), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(Image, AnImageForAnotherMachineIsNoBinaryForTheDevice) {
  Elf64_Ehdr header = header_of(numbers_image());
  header.e_machine = EM_S390;
  EXPECT_EQ(load(with_header(numbers_image(), header).data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  header.e_machine = EM_CUDA;
  EXPECT_EQ(load(with_header(numbers_image(), header).data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load(read_image(WEIR_IMAGE_OTHER_VERSION).data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load("\x50\xed\x55\xba\x01"), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

// A shared object that exports no module is not loaded, so its constructors do not run.
TEST_F(Image, AForeignSharedObjectIsNotLoaded) {
  ASSERT_EQ(unsetenv("WEIR_TEST_STRANGER_RAN"), 0);
  EXPECT_EQ(load(read_image(WEIR_IMAGE_STRANGER).data()), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(std::getenv("WEIR_TEST_STRANGER_RAN"), nullptr);
}

TEST_F(Image, AnImageWithAMissingSymbolIsRefused) {
  EXPECT_EQ(load(read_image(WEIR_IMAGE_NEEDS_SYMBOL).data()),
            CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
}

// Rule 22.1: PTX needs a GPU; a text that only starts like PTX is not PTX.
TEST_F(Image, PtxIsNoBinaryForAnEmbeddedDevice) {
  constexpr const char* begin = ".version 7.0\n.target sm_75\n.address_size 64\n";
  const auto with = [&](const char* rest) { return load((std::string{begin} + rest).c_str()); };
  EXPECT_EQ(with(""), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(with(".visible .global .align 4 .u32 word = 17;\n.visible .entry store(.param .u64 "
                 "p)\n{\n  .reg .pred %q<3>;\n"
                 "  ld.param.u64 %rd1, [p]; // where\nLOOP:\n  setp.ne.u32 %q1, %r1, 0;\n  @!%q1 "
                 "bra LOOP;\n"
                 "  { call.uni (r), f, (a, b); }\n  ret;\n}\n"),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load("//\n// made by a compiler\n/* twice */ .version 8.0\n.target sm_90\n"),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(with(".visible .entry x() { bogus; }\n"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(with(".visible .entry x() { ret;\n"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(with(".visible .entry x() { ret }\n"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(with("this is no directive\n"), CUDA_ERROR_INVALID_PTX);
}

TEST_F(Image, AnImageFileIsLoaded) {
  CUmodule made = nullptr;
  EXPECT_EQ(driver.cuModuleLoad(&made, WEIR_IMAGE_NUMBERS), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleUnload(made), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleLoad(&made, "/nowhere/no.module"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(driver.cuModuleLoad(&made, "/"), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuModuleLoad(&made, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleLoad(&made, "/dev/null"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(driver.cuModuleLoad(&made, ""), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleLoad(&made, WEIR_IMAGE_STRANGER), CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
}  // namespace weir::embedded
