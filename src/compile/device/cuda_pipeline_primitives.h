// SPDX-License-Identifier: Apache-2.0
// cuda_pipeline_primitives.h - is not there.
#error "<cuda_pipeline_primitives.h>: pipelines are not supported on the embedded device"
