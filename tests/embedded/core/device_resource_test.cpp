// SPDX-License-Identifier: Apache-2.0
// device_resource_test.cpp - how multiprocessors are split into groups and combined.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "embedded/model/core/process.hpp"
#include "embedded/table.hpp"

namespace weir::embedded {
using namespace abi;

namespace {

class DeviceResource : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(table().cuInit(0), CUDA_SUCCESS);
    whole = model::device_resource::whole(*model::this_process().find_device(0));
  }

  [[nodiscard]] model::sm_split divided(unsigned wanted, unsigned flags = 0) const {
    model::sm_split by;
    EXPECT_EQ(model::split_by_count(whole, wanted, flags, by), CUDA_SUCCESS);
    return by;
  }

  model::device_resource whole;
};

TEST_F(DeviceResource, GroupsGrowInStepsOfEight) {
  for (const unsigned wanted : {0U, 1U, 8U}) EXPECT_EQ(divided(wanted).group.count, 8U);
  EXPECT_EQ(divided(9).group.count, 16U);
  EXPECT_EQ(divided(17).group.count, 24U);
  EXPECT_EQ(divided(128).group.count, 128U);
  EXPECT_EQ(divided(129).group.count, 132U) << "there are no 136";
}

// A GPC has 14 multiprocessors; a group of eight leaves six of them unused.
TEST_F(DeviceResource, GroupsOfEightDoNotCrossClusters) {
  EXPECT_EQ(divided(8).groups, 15U);
  EXPECT_EQ(divided(16).groups, 8U);
  EXPECT_EQ(divided(8, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING).groups, 16U);
}

TEST_F(DeviceResource, GroupsWithoutCoschedulingGrowInStepsOfTwo) {
  constexpr unsigned apart = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
  EXPECT_EQ(divided(1, apart).group.count, 2U);
  EXPECT_EQ(divided(5, apart).groups, 22U);
}

TEST_F(DeviceResource, TheRemainderHoldsTheOtherMultiprocessors) {
  const model::sm_split by = divided(16);
  EXPECT_EQ(model::remaining_after(whole, by, 3).count, 132U - 48U);
  EXPECT_FALSE(model::remaining_after(whole, by, 3).coscheduled);
}

TEST_F(DeviceResource, AGroupIsNotDivided) {
  model::sm_split again;
  EXPECT_EQ(model::split_by_count(divided(32).group, 8, 0, again),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

TEST_F(DeviceResource, AUnionMayBeDividedAndIsNeverLargerThanTheDevice) {
  const model::device_resource group = divided(128).group;
  model::device_resource both;
  ASSERT_EQ(model::merge_parts(std::array{group, group}, both), CUDA_SUCCESS);
  EXPECT_EQ(both.count, 132U);
  model::sm_split by;
  EXPECT_EQ(model::split_by_count(both, 16, 0, by), CUDA_SUCCESS);
}

TEST_F(DeviceResource, ACopyOfAResourceIsAcceptedAndAForgeryIsRefused) {
  CUdevResource encoded;
  whole.write(encoded);
  const auto read = model::device_resource::read(encoded);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->count, whole.count);
  CUdevResource changed = encoded;
  changed.sm.smCount = 24;
  EXPECT_FALSE(model::device_resource::read(changed));
  CUdevResource made{};
  made.type = CU_DEV_RESOURCE_TYPE_SM;
  EXPECT_FALSE(model::device_resource::read(made));
}

// The program holds all bytes of a resource, including the driver's private part, so each byte is
// validated.
TEST_F(DeviceResource, AResourceWithAnyForgedByteIsRefused) {
  CUdevResource encoded;
  whole.write(encoded);
  for (const unsigned count : {0U, 133U, ~0U - 6U, ~0U}) {
    CUdevResource forged = encoded;
    forged.sm.smCount = count;
    for (std::size_t at = 0; at + sizeof count <= sizeof forged._internal_padding;
         at += sizeof count) {
      unsigned word = 0;
      std::memcpy(&word, forged._internal_padding + at, sizeof word);
      if (word == whole.count) std::memcpy(forged._internal_padding + at, &count, sizeof count);
    }
    unsigned groups = 1;
    EXPECT_EQ(table().cuDevSmResourceSplitByCount(nullptr, &groups, &forged, nullptr, 0, count),
              CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION)
        << count;
    CUdevResourceDesc desc = nullptr;
    EXPECT_EQ(table().cuDevResourceGenerateDesc(&desc, &forged, 1),
              CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  }
  for (std::size_t at = 0; at < sizeof encoded._internal_padding; ++at) {
    for (const unsigned byte : {0x00U, 0x02U, 0x7fU, 0xffU}) {
      CUdevResource forged = encoded;
      forged._internal_padding[at] = static_cast<unsigned char>(byte);
      unsigned groups = 1;
      CUdevResource part{};
      CUdevResource rest{};
      (void)table().cuDevSmResourceSplitByCount(&part, &groups, &forged, &rest, 0, 8);
    }
  }
}

}  // namespace
}  // namespace weir::embedded
