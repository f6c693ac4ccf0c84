// SPDX-License-Identifier: Apache-2.0
// device_functions.h - kernels have what it declares without an include.
#pragma once
