"""cuda.bindings.driver on the drop-in: the CUDA driver API from Python, call by call.

cuda.bindings knows nothing of weir. Ends with 77, "skipped", where it is not installed.
"""

import ctypes
import sys
import unittest

try:
    from cuda.bindings import driver, runtime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SUCCESS = driver.CUresult.CUDA_SUCCESS


def done(answer):
    """What a call gives beside its result, which has to be success."""
    result, *rest = answer
    if result != SUCCESS:
        raise RuntimeError(driver.cuGetErrorName(result)[1].decode())
    return rest[0] if len(rest) == 1 else rest


class Driver(unittest.TestCase):
    def setUp(self):
        done(driver.cuInit(0))
        self.device = done(driver.cuDeviceGet(0))
        self.context = done(driver.cuDevicePrimaryCtxRetain(self.device))
        done(driver.cuCtxSetCurrent(self.context))
        self.stream = done(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.host = done(driver.cuMemHostAlloc(4096, driver.CU_MEMHOSTALLOC_DEVICEMAP))
        self.words = (ctypes.c_uint32 * 1024).from_address(int(self.host))
        ctypes.memset(self.words, 0, 4096)

    def tearDown(self):
        done(driver.cuStreamDestroy(self.stream))
        done(driver.cuMemFreeHost(self.host))
        done(driver.cuDevicePrimaryCtxRelease(self.device))

    def test_results_are_enumerators(self):
        invalid = driver.CUresult.CUDA_ERROR_INVALID_VALUE
        self.assertEqual(driver.cuMemAlloc(0)[0], invalid)
        self.assertEqual(driver.cuGetErrorName(invalid)[1], b"CUDA_ERROR_INVALID_VALUE")
        self.assertEqual(driver.cuDeviceGet(1000)[0], driver.CUresult.CUDA_ERROR_INVALID_DEVICE)

    def test_memory_goes_there_and_back(self):
        memory = done(driver.cuMemAllocAsync(4096, self.stream))
        done(driver.cuMemsetD32Async(memory, 0xC0FFEE, 1024, self.stream))
        done(driver.cuMemcpyDtoHAsync(self.host, memory, 4096, self.stream))
        done(driver.cuMemFreeAsync(memory, self.stream))
        done(driver.cuStreamSynchronize(self.stream))
        self.assertEqual(set(self.words), {0xC0FFEE})

    def test_a_value_in_memory_holds_a_stream(self):
        address = done(driver.cuMemHostGetDevicePointer(self.host, 0))
        event = done(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        done(driver.cuStreamWaitValue32(self.stream, address, 1, driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ))
        done(driver.cuEventRecord(event, self.stream))
        self.assertEqual(driver.cuEventQuery(event)[0], driver.CUresult.CUDA_ERROR_NOT_READY)
        self.words[0] = 1
        done(driver.cuEventSynchronize(event))
        self.assertEqual(driver.cuEventQuery(event)[0], SUCCESS)
        done(driver.cuEventDestroy(event))

    def test_host_functions_run_in_order(self):
        seen = []
        signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        steps = [signature(lambda _, step=step: seen.append(step)) for step in range(4)]
        for step in steps:
            function = driver.CUhostFn(_ptr=ctypes.addressof(step))
            done(driver.cuLaunchHostFunc(self.stream, function, 0))
        done(driver.cuStreamSynchronize(self.stream))
        self.assertEqual(seen, [0, 1, 2, 3])

    def test_a_graph_is_captured_and_launched(self):
        memory = done(driver.cuMemAlloc(4096))
        done(driver.cuStreamBeginCapture(self.stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
        done(driver.cuMemsetD32Async(memory, 5, 1024, self.stream))
        done(driver.cuMemcpyDtoHAsync(self.host, memory, 4096, self.stream))
        graph = done(driver.cuStreamEndCapture(self.stream))
        _, count = done(driver.cuGraphGetNodes(graph))
        self.assertEqual(count, 2)
        executable = done(driver.cuGraphInstantiate(graph, 0))
        done(driver.cuGraphLaunch(executable, self.stream))
        done(driver.cuStreamSynchronize(self.stream))
        self.assertEqual(set(self.words), {5})
        done(driver.cuGraphExecDestroy(executable))
        done(driver.cuGraphDestroy(graph))
        done(driver.cuMemFree(memory))

    def test_a_wait_breaks_a_capture(self):
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        done(driver.cuStreamBeginCapture(self.stream, mode))
        refused = driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        self.assertEqual(driver.cuStreamSynchronize(self.stream)[0], refused)
        broken = driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        self.assertEqual(driver.cuStreamEndCapture(self.stream)[0], broken)
        done(driver.cuStreamSynchronize(self.stream))


class Runtime(unittest.TestCase):
    """What tools/python/sitecustomize.py makes of the driver API: the runtime's functions that cuda.core calls."""

    def test_it_speaks_of_the_drivers_devices(self):
        done(driver.cuInit(0))
        self.assertEqual(runtime.cudaGetDeviceCount(), (runtime.cudaError_t.cudaSuccess, done(driver.cuDeviceGetCount())))
        self.assertEqual(runtime.cudaDeviceGetPCIBusId(13, 0)[1], done(driver.cuDeviceGetPCIBusId(13, 0)))
        major = runtime.cudaDeviceAttr.cudaDevAttrComputeCapabilityMajor
        self.assertEqual(runtime.cudaDeviceGetAttribute(major, 0)[1], 9)
        self.assertEqual(runtime.cudaDeviceGetPCIBusId(13, 64)[0], runtime.cudaError_t.cudaErrorInvalidDevice)

    def test_it_makes_a_context_current_where_there_is_none(self):
        done(driver.cuInit(0))
        done(driver.cuCtxSetCurrent(None))
        self.assertEqual(runtime.cudaGetDevice(), (runtime.cudaError_t.cudaSuccess, 0))
        self.assertNotEqual(int(done(driver.cuCtxGetCurrent())), 0)
        self.assertEqual(runtime.cudaDeviceSynchronize(), (runtime.cudaError_t.cudaSuccess,))


if __name__ == "__main__":
    unittest.main()
