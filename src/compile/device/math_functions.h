// SPDX-License-Identifier: Apache-2.0
// math_functions.h - kernels have what it declares without an include.
#pragma once
