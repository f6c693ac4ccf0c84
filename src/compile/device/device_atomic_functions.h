// device_atomic_functions.h - kernels have what it declares without an include.
#pragma once
