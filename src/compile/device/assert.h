// SPDX-License-Identifier: Apache-2.0
// assert.h - an assertion that fails ends the launch with CUDA_ERROR_ASSERT. As the standard's, it may be included again
// with another NDEBUG.
#undef assert
#if defined(NDEBUG)
#define assert(condition) ((void)0)
#else
#define assert(condition) \
  ((condition) ? (void)0 : weir_assert_failed(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#endif
#if !defined(__cplusplus) || __cplusplus < 201103L
#define static_assert _Static_assert
#endif
