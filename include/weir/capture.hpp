// weir/capture.hpp - capturing the work of streams as a graph: all headers in weir/capture/.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/capture/capture_exec.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/capture/capture_participant.hpp>
#include <weir/capture/capture_to.hpp>
