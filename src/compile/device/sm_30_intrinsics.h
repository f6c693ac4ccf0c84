// sm_30_intrinsics.h - kernels have what it declares without an include.
#pragma once
