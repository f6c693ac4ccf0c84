// SPDX-License-Identifier: Apache-2.0
// crt/math_functions.h - kernels have what it declares without an include.
#pragma once
