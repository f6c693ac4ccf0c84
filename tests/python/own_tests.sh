#!/bin/sh
# own_tests.sh CHECKOUT [PYTEST OPTION...]: runs cuda.core's own tests of streams, events, devices, contexts, memory and
# graphs on the drop-in, those that compile a kernel skipped. CHECKOUT is a clone of
# https://github.com/NVIDIA/cuda-python at the tag of the cuda.core that is installed; WEIR_PYTHON (python3) has
# cuda-core, cuda-bindings, numpy, pytest and what else these tests import; WEIR_DROPIN is the folder of libcuda.so.1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
checkout=$(cd "$1" && pwd)
shift
tests=$checkout/cuda_core/tests
[ -d "$tests" ] || { echo "own_tests.sh: there is no $tests" >&2; exit 2; }

export LD_LIBRARY_PATH="${WEIR_DROPIN:-$root/build/release/dropin}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$root/tools/python:$here:$checkout/cuda_python_test_helpers${PYTHONPATH:+:$PYTHONPATH}"
export WEIR_EMBEDDED_DEVICES="${WEIR_EMBEDDED_DEVICES:-3}"
cd "$tests"
set -- -p no_kernels -p no:cacheprovider "$@" test_stream.py test_event.py test_device.py test_context.py test_memory.py
for more in test_memory_peer_access.py memory memory_ipc graph; do  # not in every release
  [ ! -e "$more" ] || set -- "$@" "$more"
done
exec "${WEIR_PYTHON:-python3}" -m pytest "$@"
