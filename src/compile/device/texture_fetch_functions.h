// SPDX-License-Identifier: Apache-2.0
// texture_fetch_functions.h - is not there.
#error "<texture_fetch_functions.h>: textures are not supported on the embedded device"
