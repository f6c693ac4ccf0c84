// SPDX-License-Identifier: Apache-2.0
// curand_kernel.h - is not there.
#error "<curand_kernel.h>: the random numbers of cuRAND are not supported on the embedded device"
