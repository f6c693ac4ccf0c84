// device_launch_parameters.h - kernels have what it declares without an include.
#pragma once
