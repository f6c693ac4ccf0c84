// SPDX-License-Identifier: Apache-2.0
// curand.h - is not there.
#error "<curand.h>: the random numbers of cuRAND are not supported on the embedded device"
