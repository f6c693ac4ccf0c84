// SPDX-License-Identifier: Apache-2.0
// weir/profiler.hpp - names, ranges and profilers: includes all headers in weir/profiler/, and
// weir::error.
#pragma once

#include <weir/core/error.hpp>
#include <weir/profiler/name.hpp>
#include <weir/profiler/profiler.hpp>
