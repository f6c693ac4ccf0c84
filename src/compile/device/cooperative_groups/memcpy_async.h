// SPDX-License-Identifier: Apache-2.0
// cooperative_groups/memcpy_async.h - is not there.
#error \
    "<cooperative_groups/memcpy_async.h>: asynchronous copies within a block are not supported on the embedded device"
