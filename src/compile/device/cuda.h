// SPDX-License-Identifier: Apache-2.0
// cuda.h - kernels have what it declares without an include.
#pragma once
