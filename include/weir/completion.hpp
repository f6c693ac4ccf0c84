// SPDX-License-Identifier: Apache-2.0
// weir/completion.hpp - completions, coroutines and futures: includes all headers in
// weir/completion/.
#pragma once

#include <weir/completion/awaitable.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/executor.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/completion/resume_on.hpp>
#include <weir/completion/stop.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/core/error.hpp>
