// cuda_runtime_api.h - kernels have what it declares without an include.
#pragma once
