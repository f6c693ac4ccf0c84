// SPDX-License-Identifier: Apache-2.0
// driver_types.h - kernels have what it declares without an include.
#pragma once
