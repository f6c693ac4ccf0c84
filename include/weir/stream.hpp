// SPDX-License-Identifier: Apache-2.0
// weir/stream.hpp - streams, the current stream, pools of streams and host functions: includes all
// headers in weir/stream/, and weir::error.
#pragma once

#include <weir/core/error.hpp>
#include <weir/stream/current_stream.hpp>
#include <weir/stream/foreign_stream.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/shared_stream.hpp>
#include <weir/stream/stream.hpp>
#include <weir/stream/stream_attributes.hpp>
#include <weir/stream/stream_fork.hpp>
#include <weir/stream/stream_pool.hpp>
#include <weir/stream/sync_scope.hpp>
