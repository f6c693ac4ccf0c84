// weir/kernel.hpp - programs, modules, kernels and launches: all headers in weir/kernel/.
#pragma once

#include <weir/kernel/kernel.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/launch_argument.hpp>
#include <weir/kernel/launch_config.hpp>
#include <weir/kernel/module.hpp>
#include <weir/kernel/program.hpp>
