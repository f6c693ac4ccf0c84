// SPDX-License-Identifier: Apache-2.0
// cuda_pipeline.h - is not there.
#error "<cuda_pipeline.h>: pipelines are not supported on the embedded device"
