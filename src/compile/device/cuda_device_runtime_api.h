// SPDX-License-Identifier: Apache-2.0
// cuda_device_runtime_api.h - kernels have what it declares without an include.
#pragma once
