// SPDX-License-Identifier: Apache-2.0
// surface_functions.h - is not there.
#error "<surface_functions.h>: surfaces are not supported on the embedded device"
