"""What Python programs need beside the drop-in: the CUDA runtime's part of cuda.bindings, over the driver API.

cuda.core asks cuda.bindings.runtime for a few things. That module has NVIDIA's runtime inside, and the runtime takes no
driver but NVIDIA's own. Python imports this file by itself when its folder is in PYTHONPATH; a process whose
cuda.bindings.driver speaks to a GPU's driver is left as it is. docs/driver/programs.md has more.
"""

import importlib.abc
import importlib.machinery
import sys

RUNTIME = "cuda.bindings.runtime"
SYSTEM = "cuda.core.system"


def is_embedded(driver):
    """Is the driver that cuda.bindings found weir's? Its devices say so: no GPU has their name."""
    try:
        driver.cuInit(0)
        answer, name = driver.cuDeviceGetName(64, 0)
    except RuntimeError:  # there is no driver at all, which whoever calls it will be told
        return False
    return answer == 0 and name.split(b"\0")[0] == b"weir embedded device"


def runtime_functions(driver, runtime):
    """The runtime's functions that cuda.core and its tests call, made of the driver's."""

    def said(answer):
        """The runtime's number for the driver's: where the two have the same meaning they have the same number."""
        return runtime.cudaError_t(int(answer))

    def in_primary_context(call):
        """The runtime works in the current context, and makes the primary one of device 0 current where there is none."""
        answer, context = driver.cuCtxGetCurrent()
        if answer == 0 and int(context) == 0:
            answer, context = driver.cuDevicePrimaryCtxRetain(0)
            if answer == 0:
                (answer,) = driver.cuCtxSetCurrent(context)
        return call() if answer == 0 else (answer,)

    def cudaDeviceSynchronize():
        (answer,) = in_primary_context(driver.cuCtxSynchronize)
        return (said(answer),)

    def cudaGetDevice():
        answer, *device = in_primary_context(driver.cuCtxGetDevice)
        return (said(answer), int(device[0]) if device else None)

    def cudaGetDeviceCount():
        answer, count = driver.cuDeviceGetCount()
        return (said(answer), count)

    def cudaDeviceGetPCIBusId(length, device):
        answer, text = driver.cuDeviceGetPCIBusId(length, device)
        return (said(answer), text)

    def cudaDeviceGetAttribute(attribute, device):
        answer, value = driver.cuDeviceGetAttribute(driver.CUdevice_attribute(int(attribute)), device)
        return (said(answer), value)

    return {name: function for name, function in locals().items() if name.startswith("cuda")}


def complete_runtime(runtime):
    from cuda.bindings import driver

    if is_embedded(driver):
        vars(runtime).update(runtime_functions(driver, runtime))


def complete_system(system):
    """cuda.core counts devices through NVML where its bindings have it; that library knows GPUs alone."""
    from cuda.bindings import driver

    if is_embedded(driver):
        system.get_num_devices = lambda: driver.cuDeviceGetCount()[1]


class Completing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets the import of a module go its way, then completes the module."""

    def __init__(self, completions):
        self.completions = completions
        self.loaders = {}

    def find_spec(self, name, path, target=None):
        if name not in self.completions or name in self.loaders:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None:
            return None
        self.loaders[name] = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec):
        return self.loaders[spec.name].create_module(spec)

    def exec_module(self, module):
        name = module.__spec__.name
        module.__spec__.loader = module.__loader__ = self.loaders[name]
        self.loaders[name].exec_module(module)
        self.completions[name](module)


sys.meta_path.insert(0, Completing({RUNTIME: complete_runtime, SYSTEM: complete_system}))
