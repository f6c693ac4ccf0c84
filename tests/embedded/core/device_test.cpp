// SPDX-License-Identifier: Apache-2.0
// device_test.cpp - attributes of devices, and how several devices differ.
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "embedded/driver.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded {
using namespace abi;

namespace {

class Device : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
  }

  static std::string bus_id(CUdevice device) {
    char text[32] = "";
    EXPECT_EQ(driver.cuDeviceGetPCIBusId(text, sizeof text, device), CUDA_SUCCESS);
    return text;
  }

  int count = 0;
};

// Runs the checks that all queries share: an invalid device, and a null output pointer.
TEST_F(Device, EveryQueryNeedsAnOutputAndADevice) {
  int value = 0;
  char text[32];
  CUuuid uuid;
  std::size_t bytes = 0;
  EXPECT_EQ(driver.cuDeviceGet(&value, count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuDeviceGetName(text, 8, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuDeviceGetUuid_v2(&uuid, count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuDeviceTotalMem_v2(&bytes, count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuDeviceGetPCIBusId(text, 8, count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuDeviceCanAccessPeer(&value, count, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuDeviceCanAccessPeer(&value, 0, count), CUDA_ERROR_INVALID_DEVICE);

  EXPECT_EQ(driver.cuDeviceGet(nullptr, count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDeviceGetName(nullptr, 8, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDeviceGetUuid_v2(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDeviceTotalMem_v2(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDeviceGetPCIBusId(nullptr, 32, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDeviceCanAccessPeer(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Device, ADeviceHasEveryAttribute) {
  for (unsigned which = 0; which < CU_DEVICE_ATTRIBUTE_MAX + 12; ++which) {
    int value = -77;
    const bool known = which >= 1 && which < CU_DEVICE_ATTRIBUTE_MAX;
    EXPECT_EQ(driver.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(which), 0),
              known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
        << which;
    EXPECT_EQ(value == -77, !known) << which;
  }
}

TEST_F(Device, ADeviceNameIsTruncatedToTheBuffer) {
  char whole[64];
  ASSERT_EQ(driver.cuDeviceGetName(whole, sizeof whole, 0), CUDA_SUCCESS);
  EXPECT_STREQ(whole, "weir embedded device");
  char name[8] = "xxxxxxx";
  EXPECT_EQ(driver.cuDeviceGetName(name, 5, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "weir");
  EXPECT_EQ(name[5], 'x');
  EXPECT_EQ(driver.cuDeviceGetName(name, 1, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "");
  EXPECT_EQ(driver.cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
  char again[64] = "";
  EXPECT_EQ(driver.cuDeviceGetName(again, -1, 0), CUDA_SUCCESS) << "as good as any large number";
  EXPECT_STREQ(again, whole);
}

TEST_F(Device, ADeviceIsFoundByAnyFormOfItsBusId) {
  const std::string id = bus_id(0);
  EXPECT_EQ(id, "FFFF:00:00.0");
  for (const char* accepted : {"FFFF:00:00.0", "ffff:00:00.0", "ffff:0:0.0", "FFFF:00:00",
                               " FFFF:00:00.0", "FFFF:00:00.0zz", "FFFF:00:00."}) {
    CUdevice found = -5;
    EXPECT_EQ(driver.cuDeviceGetByPCIBusId(&found, accepted), CUDA_SUCCESS) << accepted;
    EXPECT_EQ(found, 0);
  }
  CUdevice found = -5;
  for (const char* absent :
       {"0000:00:00.0", "00:00.0", "ffff:00:1f.0", "ffff:00:00.1", "1:2:3:4.0"}) {
    EXPECT_EQ(driver.cuDeviceGetByPCIBusId(&found, absent), CUDA_ERROR_INVALID_DEVICE) << absent;
  }
  for (const char* malformed : {"", "garbage", "FFFF::00.0", "FFFF"}) {
    EXPECT_EQ(driver.cuDeviceGetByPCIBusId(&found, malformed), CUDA_ERROR_INVALID_VALUE)
        << malformed;
  }
  EXPECT_EQ(driver.cuDeviceGetByPCIBusId(&found, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(found, -5);
}

TEST_F(Device, ABusIdThatDoesNotFitIsAnError) {
  char text[16] = "";
  EXPECT_EQ(driver.cuDeviceGetPCIBusId(text, 5, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_STREQ(text, "FFFF");
  EXPECT_EQ(driver.cuDeviceGetPCIBusId(text, 12, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDeviceGetPCIBusId(text, 13, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDeviceGetPCIBusId(text, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

// An allocation larger than the device's free memory fails, whatever its size.
TEST_F(Device, ADeviceAccountsForItsMemory) {
  model::device one{0, 0, std::size_t{1} << 20};
  EXPECT_TRUE(one.reserve_memory(1 << 19));
  EXPECT_FALSE(one.reserve_memory((1 << 19) + 1));
  EXPECT_FALSE(one.reserve_memory(~std::size_t{0}));
  EXPECT_EQ(one.free_memory(), std::size_t{1} << 19);
  EXPECT_TRUE(one.reserve_memory(1 << 19));
  EXPECT_EQ(one.free_memory(), 0U);
  EXPECT_TRUE(one.reserve_memory(0));
  one.release_memory(1 << 20);
  EXPECT_EQ(one.free_memory(), std::size_t{1} << 20);
}

// These tests need WEIR_EMBEDDED_DEVICES above 1.
class Devices : public Device {
 protected:
  void SetUp() override {
    Device::SetUp();
    if (count < 2) GTEST_SKIP() << "one device";
  }
};

TEST_F(Devices, DevicesDifferInUuidAndBusId) {
  std::set<std::string> uuids;
  for (CUdevice device = 0; device < count; ++device) {
    CUuuid uuid{};
    CUuuid again{};
    ASSERT_EQ(driver.cuDeviceGetUuid_v2(&uuid, device), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDeviceGetUuid_v2(&again, device), CUDA_SUCCESS);
    const std::string bytes(uuid.bytes, sizeof uuid.bytes);
    EXPECT_EQ(bytes, std::string(again.bytes, sizeof again.bytes));
    EXPECT_TRUE(uuids.insert(bytes).second);
    CUdevice found = -1;
    EXPECT_EQ(driver.cuDeviceGetByPCIBusId(&found, bus_id(device).c_str()), CUDA_SUCCESS);
    EXPECT_EQ(found, device);
  }
}

TEST_F(Devices, DevicesReachEachOtherAndAreNotTheirOwnPeers) {
  int value = -7;
  EXPECT_EQ(driver.cuDeviceCanAccessPeer(&value, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(driver.cuDeviceCanAccessPeer(&value, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(driver.cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(driver.cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1),
            CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(99), 0, 1),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Devices, PeerAccessIsEnabledOnce) {
  std::vector<CUcontext> contexts(2);
  for (CUdevice device = 0; device < 2; ++device) {
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&contexts[static_cast<std::size_t>(device)], device),
              CUDA_SUCCESS);
  }
  ASSERT_EQ(driver.cuCtxSetCurrent(contexts[0]), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(contexts[0], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(driver.cuCtxDisablePeerAccess(contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(contexts[1], 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(contexts[1], 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(contexts[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(driver.cuCtxDisablePeerAccess(contexts[1]), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDisablePeerAccess(contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  ASSERT_EQ(driver.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  for (CUdevice device = 0; device < 2; ++device)
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(device), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
