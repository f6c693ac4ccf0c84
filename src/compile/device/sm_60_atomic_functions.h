// SPDX-License-Identifier: Apache-2.0
// sm_60_atomic_functions.h - kernels have what it declares without an include.
#pragma once
