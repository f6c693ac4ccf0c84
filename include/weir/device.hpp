// weir/device.hpp - devices, contexts, green contexts and peer access: all headers in weir/device/.
#pragma once

#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/device/green_context.hpp>
#include <weir/device/peer_access.hpp>
