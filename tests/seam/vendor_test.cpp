// SPDX-License-Identifier: Apache-2.0
// Defects of a vendor's library are detected and reported; missing functions are filled in.
#include "driver/vendor.hpp"

#include "seam/sibling_path.hpp"

#include <gmock/gmock.h>

namespace {

using namespace weir::abi;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using weir::detail::open_vendor;
using weir::detail::vendor_driver;

vendor_driver open_fake(const char* name) { return open_vendor(sibling_path(name).c_str()); }

TEST(Vendor, AMissingLibraryIsReported) {
  const vendor_driver driver = open_vendor("libno-such-driver.so.1");
  EXPECT_FALSE(driver.is_usable());
  EXPECT_EQ(driver.code, CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_STREQ(driver.call, "dlopen");
  EXPECT_THAT(driver.problem, HasSubstr("libno-such-driver.so.1"));
}

TEST(Vendor, ALibraryThatIsNotADriverIsReported) {
  const vendor_driver driver = open_fake("libfake-other.so");
  EXPECT_EQ(driver.code, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
  EXPECT_THAT(driver.problem, HasSubstr("is not a CUDA driver"));
}

TEST(Vendor, ADriverBeforeCuda12IsReportedAsTooOld) {
  const vendor_driver driver = open_fake("libfake-old.so");
  EXPECT_EQ(driver.code, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  EXPECT_THAT(driver.problem, HasSubstr("it is for CUDA 11.8, and weir needs 12.0 or later"));
}

TEST(Vendor, ADriverWithoutGetProcAddressIsReportedAsTooOld) {
  const vendor_driver driver = open_fake("libfake-deaf.so");
  EXPECT_EQ(driver.code, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  EXPECT_THAT(driver.problem, HasSubstr("too old"));
}

TEST(Vendor, ADriverThatFailsToInitializeIsReported) {
  const vendor_driver driver = open_fake("libfake-no-device.so");
  EXPECT_EQ(driver.code, CUDA_ERROR_NO_DEVICE);
  EXPECT_STREQ(driver.call, "cuInit");
  EXPECT_THAT(driver.problem,
              HasSubstr("CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"));
}

TEST(Vendor, ADriverWithZeroDevicesIsReported) {
  const vendor_driver driver = open_fake("libfake-zero.so");
  EXPECT_EQ(driver.code, CUDA_ERROR_NO_DEVICE);
  EXPECT_THAT(driver.problem, HasSubstr("has no device"));
}

TEST(Vendor, AUsableDriverReportsItsVersionAndLibrary) {
  const vendor_driver driver = open_fake("libfake-12-2.so");
  EXPECT_TRUE(driver.is_usable()) << driver.problem;
  EXPECT_EQ(driver.version, 12020);
  EXPECT_EQ(driver.library, sibling_path("libfake-12-2.so"));
}

// Each function is looked up in the version of functions.def, not in the newest.
TEST(Vendor, FunctionsAreLookedUpByVersion) {
  const vendor_driver driver = open_fake("libfake-12-2.so");
  unsigned long long id = 0;
  EXPECT_EQ(driver.table.cuStreamGetId(nullptr, &id), CUDA_SUCCESS);
  EXPECT_EQ(id, 41u);
  EXPECT_THAT(driver.missing_functions, Not(Contains("cuStreamGetId")));
}

// A driver that lacks newer functions works without them.
TEST(Vendor, AMissingFunctionReportsThatANewerDriverIsRequired) {
  const vendor_driver driver = open_fake("libfake-12-2.so");
  CUdevice device = 0;
  EXPECT_EQ(driver.table.cuStreamGetDevice(nullptr, &device),
            CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  EXPECT_THAT(driver.missing_functions, Contains("cuStreamGetDevice"));
}

TEST(Vendor, EveryTableEntryIsSet) {
  const vendor_driver driver = open_fake("libfake-12-2.so");
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  EXPECT_NE(driver.table.symbol, nullptr) << #symbol;
#include "driver/functions.def"
#undef WEIR_FUNCTION
}

}  // namespace
