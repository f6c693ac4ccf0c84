// weir/stream.hpp - streams, the current stream, pools of streams and host functions: all headers
// in weir/stream/.
#pragma once

#include <weir/stream/current_stream.hpp>
#include <weir/stream/foreign_stream.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/shared_stream.hpp>
#include <weir/stream/stream.hpp>
#include <weir/stream/stream_attributes.hpp>
#include <weir/stream/stream_fork.hpp>
#include <weir/stream/stream_pool.hpp>
#include <weir/stream/sync_scope.hpp>
