// SPDX-License-Identifier: Apache-2.0
// device_launch_parameters.h - kernels have what it declares without an include.
#pragma once
