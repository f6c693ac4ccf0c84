// SPDX-License-Identifier: Apache-2.0
// cooperative_groups/reduce.h - is part of cooperative_groups.h.
#pragma once

#include <cooperative_groups.h>
