// SPDX-License-Identifier: Apache-2.0
// weir/capture.hpp - stream capture: includes all headers in weir/capture/, and weir::error.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/capture/capture_exec.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/capture/capture_node.hpp>
#include <weir/capture/capture_participant.hpp>
#include <weir/capture/capture_to.hpp>
#include <weir/core/error.hpp>
