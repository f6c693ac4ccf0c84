// SPDX-License-Identifier: Apache-2.0
// visible_devices_test.cpp - the lists that CUDA_VISIBLE_DEVICES accepts.
#include "embedded/model/core/visible_devices.hpp"

#include <gmock/gmock.h>

namespace weir::embedded::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(VisibleDevices, NumbersSelectDevicesInTheirOrder) {
  EXPECT_THAT(visible_devices("0", 3), ElementsAre(0));
  EXPECT_THAT(visible_devices("2,0", 3), ElementsAre(2, 0));
  EXPECT_THAT(visible_devices(" 1 , 2", 3), ElementsAre(1, 2));
}

TEST(VisibleDevices, TheFirstInvalidEntryEndsTheList) {
  EXPECT_THAT(visible_devices("1,3,0", 3), ElementsAre(1));
  EXPECT_THAT(visible_devices("1,-1,0", 3), ElementsAre(1));
  EXPECT_THAT(visible_devices("1,,0", 3), ElementsAre(1));
  EXPECT_THAT(visible_devices("-1", 3), IsEmpty());
  EXPECT_THAT(visible_devices("", 3), IsEmpty());
  EXPECT_THAT(visible_devices("none", 3), IsEmpty());
}

TEST(VisibleDevices, ADeviceNamedTwiceHidesAll) {
  EXPECT_THAT(visible_devices("0,1,0", 3), IsEmpty());
}

TEST(VisibleDevices, AUuidSelectsItsDevice) {
  constexpr const char* second = "GPU-77656972-2d65-6d62-6564-646564000001";
  EXPECT_THAT(visible_devices(second, 3), ElementsAre(1));
  EXPECT_THAT(visible_devices("GPU-77656972-2D65-6D62-6564-646564000002,0", 3), ElementsAre(2, 0));
  EXPECT_THAT(visible_devices("GPU-7765", 1), ElementsAre(0));
  EXPECT_THAT(visible_devices("GPU-7765", 2), IsEmpty()) << "of two devices";
}

}  // namespace
}  // namespace weir::embedded::model
