#!/bin/sh
# own_tests.sh CHECKOUT [PYTEST OPTION...]: runs cuda.core's own tests of streams, events, devices, contexts and memory on
# the drop-in. CHECKOUT is a clone of https://github.com/NVIDIA/cuda-python at the tag of the cuda.core that is installed;
# WEIR_PYTHON (python3) has cuda-core, cuda-bindings, numpy and pytest; WEIR_DROPIN is the folder of libcuda.so.1.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
checkout=$(cd "$1" && pwd)
tests=$checkout/cuda_core/tests
shift
[ -d "$tests" ] || { echo "own_tests.sh: there is no $tests" >&2; exit 2; }

# These launch kernels, which the embedded driver does not have: by name, and by what they take.
kernels="test_timing_success or test_error_timing_incomplete or test_event_is_done_false or latch or nanosleep"

export LD_LIBRARY_PATH="${WEIR_DROPIN:-$root/build/release/dropin}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$root/tools/python:$checkout/cuda_python_test_helpers${PYTHONPATH:+:$PYTHONPATH}"
export WEIR_EMBEDDED_DEVICES="${WEIR_EMBEDDED_DEVICES:-2}"
cd "$tests"
exec "${WEIR_PYTHON:-python3}" -m pytest -p no:cacheprovider -k "not ($kernels)" "$@" \
  test_stream.py test_event.py test_device.py test_context.py test_memory.py
