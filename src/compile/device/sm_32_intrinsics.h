// sm_32_intrinsics.h - kernels have what it declares without an include.
#pragma once
