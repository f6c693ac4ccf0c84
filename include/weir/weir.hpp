// weir/weir.hpp - all of weir, except the headers in weir/interop/, one for each foreign library.
#pragma once

#include <weir/buffer.hpp>
#include <weir/context.hpp>
#include <weir/copy.hpp>
#include <weir/current_stream.hpp>
#include <weir/deferred.hpp>
#include <weir/device.hpp>
#include <weir/driver.hpp>
#include <weir/errc.hpp>
#include <weir/error.hpp>
#include <weir/event.hpp>
#include <weir/fill.hpp>
#include <weir/host_function.hpp>
#include <weir/kept_stream.hpp>
#include <weir/memory_pool.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/stream.hpp>
#include <weir/stream_pool.hpp>
#include <weir/sync_scope.hpp>
#include <weir/to_string.hpp>
#include <weir/value_batch.hpp>
#include <weir/value_wait.hpp>
#include <weir/verify.hpp>
#include <weir/version.hpp>
#include <weir/word.hpp>
