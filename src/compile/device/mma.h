// SPDX-License-Identifier: Apache-2.0
// mma.h - is not there.
#error "<mma.h>: tensor cores (wmma) are not supported on the embedded device"
