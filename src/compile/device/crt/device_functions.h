// SPDX-License-Identifier: Apache-2.0
// crt/device_functions.h - kernels have what it declares without an include.
#pragma once
