// SPDX-License-Identifier: Apache-2.0
// weir/memory.hpp - buffers, pools, copies and fills: includes all headers in weir/memory/, and
// weir::error.
#pragma once

#include <weir/core/error.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/buffer_part.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/memory/external_memory.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/ipc_buffer.hpp>
#include <weir/memory/ipc_pool.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/managed_memory.hpp>
#include <weir/memory/memory_location.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/memory/memory_resource.hpp>
#include <weir/memory/pinned_allocator.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/memory/pitched_span.hpp>
