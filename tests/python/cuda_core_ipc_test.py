"""cuda.core between two processes on the drop-in: memory pools, buffers and events that a child opens.

Ends with 77, "skipped", where cuda.core is not installed.
"""

import ctypes
import multiprocessing
import sys
import unittest

try:
    import cuda.core as core
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SIZE = 4096
POOL = 1 << 21
PATIENCE = 60  # seconds until a child that says nothing counts as lost


def bytes_by(stream, buffer):
    """What is in a buffer when the stream comes there."""
    host = core.LegacyPinnedMemoryResource().allocate(buffer.size)
    buffer.copy_to(host, stream=stream)
    stream.sync()
    return ctypes.string_at(int(host.handle), host.size)


def fill(stream, buffer, value):
    """Fills by a copy, which memory that no device was let into takes, too."""
    source = core.LegacyPinnedMemoryResource().allocate(buffer.size)
    ctypes.memset(int(source.handle), value, source.size)
    buffer.copy_from(source, stream=stream)
    stream.sync()


def child(pool, sent, answers):
    """Waits for the parent's work, tells what it finds, and leaves something else."""
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    ready, buffer = sent.get(timeout=PATIENCE), sent.get(timeout=PATIENCE)
    stream.wait(ready)
    answers.put(bytes_by(stream, buffer))
    fill(stream, buffer, 9)
    buffer.close(stream)
    answers.put("done")


class BetweenProcesses(unittest.TestCase):
    def share(self, make_pool):
        device = core.Device()
        device.set_current()
        stream = device.create_stream()
        pool = make_pool(device)
        buffer = pool.allocate(SIZE, stream=stream)
        fill(stream, buffer, 7)
        ready = stream.record(options=core.EventOptions(ipc_enabled=True))

        spawn = multiprocessing.get_context("spawn")
        sent, answers = spawn.Queue(), spawn.Queue()
        process = spawn.Process(target=child, args=(pool, sent, answers))
        process.start()
        sent.put(ready)
        sent.put(buffer)
        self.assertEqual(answers.get(timeout=PATIENCE), b"\7" * SIZE)
        self.assertEqual(answers.get(timeout=PATIENCE), "done")
        process.join(PATIENCE)
        self.assertEqual(process.exitcode, 0)
        self.assertEqual(bytes_by(stream, buffer), b"\t" * SIZE)
        buffer.close(stream)
        stream.sync()
        pool.close()

    def test_a_pool_of_the_device(self):
        options = core.DeviceMemoryResourceOptions(max_size=POOL, ipc_enabled=True)
        self.share(lambda device: core.DeviceMemoryResource(device, options))

    def test_a_pool_of_the_host(self):
        options = core.PinnedMemoryResourceOptions(max_size=POOL, ipc_enabled=True)
        self.share(lambda device: core.PinnedMemoryResource(options))


if __name__ == "__main__":
    unittest.main()
