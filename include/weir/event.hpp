// SPDX-License-Identifier: Apache-2.0
// weir/event.hpp - events, shared events and timers: includes all headers in weir/event/, and
// weir::error.
#pragma once

#include <weir/core/error.hpp>
#include <weir/event/event.hpp>
#include <weir/event/ipc_event.hpp>
#include <weir/event/timer.hpp>
