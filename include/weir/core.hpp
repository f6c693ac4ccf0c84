// SPDX-License-Identifier: Apache-2.0
// weir/core.hpp - errors, call sites and the choice of the driver: includes all headers in
// weir/core/.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/deferred.hpp>
#include <weir/core/driver.hpp>
#include <weir/core/errc.hpp>
#include <weir/core/error.hpp>
#include <weir/core/handle.hpp>
#include <weir/core/sync_guard.hpp>
#include <weir/core/to_string.hpp>
#include <weir/core/verify.hpp>
