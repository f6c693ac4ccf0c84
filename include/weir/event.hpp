// weir/event.hpp - events, events of other processes and timers: all headers in weir/event/.
#pragma once

#include <weir/event/event.hpp>
#include <weir/event/ipc_event.hpp>
#include <weir/event/timer.hpp>
