// SPDX-License-Identifier: Apache-2.0
// weir/kernel.hpp - programs, modules, kernels and launches: includes all headers in weir/kernel/,
// and weir::error.
#pragma once

#include <weir/core/error.hpp>
#include <weir/kernel/kernel.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/launch_argument.hpp>
#include <weir/kernel/launch_config.hpp>
#include <weir/kernel/module.hpp>
#include <weir/kernel/program.hpp>
