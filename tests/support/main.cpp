// The main function of every test program: runs the tests against the driver that WEIR_DRIVER names.
#include <gmock/gmock.h>

#include <cstdio>
#include <weir/driver.hpp>
#include <weir/errc.hpp>
#include <weir/error.hpp>

namespace {

constexpr int skipped = 77;  // what CTest is told to take for "skipped"

// A machine without a GPU, or without its driver. Anything else that is wrong with a driver is a failure.
bool is_absence(weir::errc code) { return code == weir::errc::no_device || code == weir::errc::file_not_found; }

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  try {
    const weir::driver_info driver = weir::current_driver();
    std::printf("driver: %s\n", weir::to_string(driver.kind).data());
  } catch (const weir::error& failure) {
    std::printf("%s\n", failure.what());
    return is_absence(failure.result()) ? skipped : 1;
  }
  return RUN_ALL_TESTS();
}
