// weir/profiler.hpp - names, ranges and profilers: all headers in weir/profiler/.
#pragma once

#include <weir/profiler/name.hpp>
#include <weir/profiler/profiler.hpp>
