// SPDX-License-Identifier: Apache-2.0
// stdexec/execution.hpp - a replacement for stdexec if it is not installed: concepts and algorithms
// of C++26's [exec].
//
// It contains what weir's senders and their tests use, and only members that user code may define:
// set_value, set_error, set_stopped, connect, start, get_env, query and schedule.
#pragma once

#include <stdexec/algorithms.hpp>
#include <stdexec/concepts.hpp>
#include <stdexec/stop_token.hpp>
