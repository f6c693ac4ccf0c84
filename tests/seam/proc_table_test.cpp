// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress's lookup: by base name, the newest form that is not newer than the version, and
// the default stream.
#include "embedded/entry/proc_table.hpp"

#include "embedded/entry/entries.hpp"

#include <gtest/gtest.h>

namespace {

using namespace weir::embedded::entry;
using namespace weir::abi;

template <class Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

TEST(ProcTable, AFunctionIsFoundByItsBaseName) {
  const found_proc found = find_proc("cuMemAlloc", 13000, default_stream::legacy);
  EXPECT_EQ(found.address, address(entries.cuMemAlloc_v2));
  EXPECT_EQ(found.status, CU_GET_PROC_ADDRESS_SUCCESS);
}

TEST(ProcTable, OtherNamesAreNotFound) {
  for (const char* name : {"", "cuNoSuchFunction", "cuMemAlloc_v2", "cuStreamQuery_ptsz"}) {
    const found_proc found = find_proc(name, 13000, default_stream::legacy);
    EXPECT_EQ(found.address, nullptr) << name;
    EXPECT_EQ(found.status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) << name;
  }
}

TEST(ProcTable, AFunctionOfALaterVersionIsReportedAsSuch) {
  const found_proc found = find_proc("cuStreamGetId", 11080, default_stream::legacy);
  EXPECT_EQ(found.address, nullptr);
  EXPECT_EQ(found.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST(ProcTable, TheFormMatchesTheRequestedVersion) {
  EXPECT_EQ(find_proc("cuStreamGetCaptureInfo", 11030, default_stream::legacy).address,
            address(entries.cuStreamGetCaptureInfo_v2));
  EXPECT_EQ(find_proc("cuStreamGetCaptureInfo", 12020, default_stream::legacy).address,
            address(entries.cuStreamGetCaptureInfo_v2));
  EXPECT_EQ(find_proc("cuStreamGetCaptureInfo", 12030, default_stream::legacy).address,
            address(entries.cuStreamGetCaptureInfo_v3));
  EXPECT_EQ(find_proc("cuStreamGetCaptureInfo", 13000, default_stream::legacy).address,
            address(entries.cuStreamGetCaptureInfo_v3));
}

TEST(ProcTable, AFunctionHasAFormForEachDefaultStream) {
  EXPECT_EQ(find_proc("cuStreamQuery", 13000, default_stream::legacy).address,
            address(entries.cuStreamQuery));
  EXPECT_NE(find_proc("cuStreamQuery", 13000, default_stream::per_thread).address,
            address(entries.cuStreamQuery));
  EXPECT_EQ(find_proc("cuStreamCreate", 13000, default_stream::per_thread).address,
            address(entries.cuStreamCreate));  // does not take a null stream
}

TEST(ProcTable, UnsupportedFunctionsAreFound) {
  const found_proc found = find_proc("cuTexObjectCreate", 13000, default_stream::legacy);
  ASSERT_EQ(found.status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(reinterpret_cast<CUresult (*)()>(const_cast<void*>(found.address))(),
            CUDA_ERROR_NOT_SUPPORTED);
}

TEST(DefaultStream, TheNullStreamIsPerThreadOnlyInsideAScope) {
  EXPECT_EQ(null_stream, default_stream::legacy);
  {
    const per_thread_default_scope outer;
    EXPECT_EQ(null_stream, default_stream::per_thread);
    { const per_thread_default_scope inner; }
    EXPECT_EQ(null_stream, default_stream::per_thread);
  }
  EXPECT_EQ(null_stream, default_stream::legacy);
}

CUresult succeed_where(int per_thread_expected) {
  return (null_stream == default_stream::per_thread) == (per_thread_expected != 0)
             ? CUDA_SUCCESS
             : CUDA_ERROR_UNKNOWN;
}

TEST(DefaultStream, APerThreadVariantCallsTheFunctionInsideAPerThreadScope) {
  EXPECT_EQ(succeed_where(0), CUDA_SUCCESS);
  EXPECT_EQ(per_thread<&succeed_where>::call(1), CUDA_SUCCESS);
  EXPECT_EQ(succeed_where(0), CUDA_SUCCESS);
}

}  // namespace
