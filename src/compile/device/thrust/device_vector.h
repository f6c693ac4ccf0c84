// SPDX-License-Identifier: Apache-2.0
// thrust/device_vector.h - is not there.
#error "<thrust/device_vector.h>: Thrust is not supported on the embedded device"
