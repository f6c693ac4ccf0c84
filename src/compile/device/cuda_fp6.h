// SPDX-License-Identifier: Apache-2.0
// cuda_fp6.h - is not there.
#error "<cuda_fp6.h>: 6-bit floating point is not supported on the embedded device"
