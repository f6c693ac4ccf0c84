// SPDX-License-Identifier: Apache-2.0
// weir/device.hpp - devices, contexts, green contexts and peer access: includes all headers in
// weir/device/.
#pragma once

#include <weir/core/error.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/device/green_context.hpp>
#include <weir/device/peer_access.hpp>
