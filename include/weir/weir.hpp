// SPDX-License-Identifier: Apache-2.0
// weir/weir.hpp - all of weir except the headers in weir/interop/, one for each foreign library.
#pragma once

#include <weir/capture.hpp>
#include <weir/completion.hpp>
#include <weir/core.hpp>
#include <weir/device.hpp>
#include <weir/event.hpp>
#include <weir/graph.hpp>
#include <weir/kernel.hpp>
#include <weir/memory.hpp>
#include <weir/profiler.hpp>
#include <weir/stream.hpp>
#include <weir/sync.hpp>
#include <weir/version.hpp>
