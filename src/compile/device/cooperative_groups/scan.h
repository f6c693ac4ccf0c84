// SPDX-License-Identifier: Apache-2.0
// cooperative_groups/scan.h - is part of cooperative_groups.h.
#pragma once

#include <cooperative_groups.h>
