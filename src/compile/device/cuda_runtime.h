// SPDX-License-Identifier: Apache-2.0
// cuda_runtime.h - kernels have what it declares without an include.
#pragma once
