// cub/cub.cuh - is not there.
#error "<cub/cub.cuh>: CUB is not supported on the embedded device"
