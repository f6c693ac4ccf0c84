// SPDX-License-Identifier: Apache-2.0
// cuda_fp8.h - is not there.
#error "<cuda_fp8.h>: 8-bit floating point is not supported on the embedded device"
