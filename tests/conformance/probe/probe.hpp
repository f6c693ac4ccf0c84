// probe/probe.hpp - what the files of cases need.
#pragma once

#include "probe/cases.hpp"
#include "probe/driver.hpp"
#include "probe/gates.hpp"
#include "probe/graph/build_graph.hpp"
#include "probe/graph/read_graph.hpp"
#include "probe/owners.hpp"
#include "probe/record.hpp"
#include "probe/second_device.hpp"
#include "probe/time_limits.hpp"
#include "probe/trace.hpp"
#include "probe/world.hpp"
