// probe/probe.hpp - what the files of cases need.
#pragma once

#include "probe/build_graph.hpp"
#include "probe/cases.hpp"
#include "probe/driver.hpp"
#include "probe/far.hpp"
#include "probe/gates.hpp"
#include "probe/owners.hpp"
#include "probe/patience.hpp"
#include "probe/read_graph.hpp"
#include "probe/record.hpp"
#include "probe/trace.hpp"
#include "probe/world.hpp"
