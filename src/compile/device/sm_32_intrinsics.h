// SPDX-License-Identifier: Apache-2.0
// sm_32_intrinsics.h - kernels have what it declares without an include.
#pragma once
