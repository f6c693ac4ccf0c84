// SPDX-License-Identifier: Apache-2.0
// weir/sync.hpp - waits for values in memory, and semaphores of other APIs: includes all headers in
// weir/sync/.
#pragma once

#include <weir/core/error.hpp>
#include <weir/sync/external_semaphore.hpp>
#include <weir/sync/shared_semaphore.hpp>
#include <weir/sync/value_batch.hpp>
#include <weir/sync/value_wait.hpp>
#include <weir/sync/wait_word.hpp>
