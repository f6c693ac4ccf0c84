// SPDX-License-Identifier: Apache-2.0
// cuda_fp4.h - is not there.
#error "<cuda_fp4.h>: 4-bit floating point is not supported on the embedded device"
