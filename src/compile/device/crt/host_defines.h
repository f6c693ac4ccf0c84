// SPDX-License-Identifier: Apache-2.0
// crt/host_defines.h - kernels have what it declares without an include.
#pragma once
