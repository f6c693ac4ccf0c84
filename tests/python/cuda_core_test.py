"""cuda.core on the drop-in, as its documentation shows it: devices, streams, events, buffers, memory pools, graphs.

cuda.core knows nothing of weir. Ends with 77, "skipped", where it is not installed.
"""

import ctypes
import sys
import unittest

try:
    import cuda.core as core
    from cuda.core.graph import GraphBuilder
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SIZE = 4096


def bytes_of(buffer):
    """What is in a buffer that the host can read."""
    return ctypes.string_at(int(buffer.handle), buffer.size)


class CudaCore(unittest.TestCase):
    def setUp(self):
        self.device = core.Device()
        self.device.set_current()
        self.stream = self.device.create_stream()
        self.pinned = core.LegacyPinnedMemoryResource()

    def there_and_back(self, buffer):
        """The bytes of a buffer of the device, by way of a pinned one."""
        host = self.pinned.allocate(buffer.size)
        buffer.copy_to(host, stream=self.stream)
        self.stream.sync()
        return bytes_of(host)


class Devices(CudaCore):
    def test_properties_are_all_there(self):
        properties = self.device.properties
        names = [name for name in dir(properties) if not name.startswith("_")]
        self.assertGreater(len(names), 100)
        for name in names:
            self.assertIsInstance(getattr(properties, name), int, name)
        self.assertTrue(properties.memory_pools_supported and properties.stream_priorities_supported)

    def test_it_is_weirs(self):
        self.assertEqual(self.device.name, "weir embedded device")
        self.assertEqual(self.device.pci_bus_id[:5], "FFFF:")
        self.assertEqual(self.device.arch, "".join(str(part) for part in self.device.compute_capability))
        self.assertEqual(core.system.get_num_devices(), len(core.Device.get_all_devices()))
        self.device.sync()


class Streams(CudaCore):
    def test_options(self):
        stream = self.device.create_stream(options=core.StreamOptions(nonblocking=True, priority=-1))
        self.assertTrue(stream.is_nonblocking)
        self.assertEqual(stream.priority, -1)
        self.assertEqual(stream.device, self.device)
        with self.assertRaises(ValueError):
            self.device.create_stream(options=core.StreamOptions(priority=1))

    def test_one_waits_for_another(self):
        other = self.device.create_stream()
        buffer = self.device.allocate(SIZE, stream=self.stream)
        buffer.fill(1, stream=self.stream)
        other.wait(self.stream)
        buffer.fill(2, stream=other)
        self.stream.wait(other.record())
        self.assertEqual(self.there_and_back(buffer), b"\2" * SIZE)

    def test_foreign_streams_come_by_their_protocol(self):
        class Foreign:
            def __init__(self, stream):
                self.stream = stream

            def __cuda_stream__(self):
                return self.stream.__cuda_stream__()

        self.assertEqual(self.device.create_stream(obj=Foreign(self.stream)), self.stream)


class Events(CudaCore):
    def test_time_passes(self):
        timed = core.EventOptions(timing_enabled=True)
        start = self.stream.record(options=timed)
        buffer = self.device.allocate(SIZE, stream=self.stream)
        buffer.fill(0, stream=self.stream)
        end = self.stream.record(options=timed)
        end.sync()
        self.assertTrue(start.is_done and end.is_done)
        self.assertGreaterEqual(end - start, 0)

    def test_plain_events_have_no_time(self):
        plain = self.stream.record()
        plain.sync()
        with self.assertRaisesRegex(RuntimeError, "timing enabled"):
            plain - plain


class Buffers(CudaCore):
    def test_patterns_of_each_width(self):
        buffer = self.device.allocate(SIZE, stream=self.stream)
        for pattern in (b"\x11", b"\x22\x33", b"\x44\x55\x66\x77"):
            buffer.fill(pattern, stream=self.stream)
            self.assertEqual(self.there_and_back(buffer), pattern * (SIZE // len(pattern)))

    def test_copies_from_and_to(self):
        host = self.pinned.allocate(SIZE)
        ctypes.memmove(int(host.handle), bytes(range(256)) * (SIZE // 256), SIZE)
        buffer = self.device.allocate(SIZE, stream=self.stream)
        buffer.copy_from(host, stream=self.stream)
        self.assertEqual(self.there_and_back(buffer), bytes(range(256)) * (SIZE // 256))
        buffer.close(self.stream)
        self.assertEqual(buffer.handle, 0)

    def test_numpy_sees_pinned_memory(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        host = self.pinned.allocate(SIZE)
        view = numpy.from_dlpack(host).view(numpy.uint32)
        host.fill(b"\1\2\3\4", stream=self.stream)
        self.stream.sync()
        self.assertTrue((view == 0x04030201).all())


class Pools(CudaCore):
    def test_a_pool_counts(self):
        pool = core.DeviceMemoryResource(self.device, core.DeviceMemoryResourceOptions(max_size=1 << 21))
        buffer = pool.allocate(SIZE, stream=self.stream)
        self.assertEqual(buffer.memory_resource, pool)
        self.stream.sync()
        self.assertGreaterEqual(pool.attributes.used_mem_current, SIZE)
        self.assertGreaterEqual(pool.attributes.reserved_mem_current, pool.attributes.used_mem_current)
        buffer.close(self.stream)
        self.stream.sync()
        self.assertEqual(pool.attributes.used_mem_current, 0)
        self.assertGreaterEqual(pool.attributes.used_mem_high, SIZE)
        pool.close()

    def test_a_pool_has_its_limit(self):
        pool = core.DeviceMemoryResource(self.device, core.DeviceMemoryResourceOptions(max_size=1 << 21))
        with self.assertRaises(Exception) as caught:
            pool.allocate(1 << 26, stream=self.stream)
        self.assertIn("OUT_OF_MEMORY", str(caught.exception))

    def test_peers_are_let_in(self):
        devices = core.Device.get_all_devices()
        if len(devices) < 2:
            self.skipTest("one device")
        pool = core.DeviceMemoryResource(self.device, core.DeviceMemoryResourceOptions(max_size=1 << 21))
        self.assertEqual(set(pool.peer_accessible_by), set())
        pool.peer_accessible_by = [devices[1]]
        self.assertEqual([peer.device_id for peer in pool.peer_accessible_by], [1])

    def test_managed_pools(self):
        for location in ("device", "host", "host_numa"):
            where = None if location == "host" else 0
            options = {"preferred_location": where, "preferred_location_type": location}
            pool = core.ManagedMemoryResource(core.ManagedMemoryResourceOptions(**options))
            self.assertTrue(pool.is_host_accessible and pool.is_device_accessible)
            buffer = pool.allocate(SIZE, stream=self.stream)
            buffer.fill(6, stream=self.stream)
            self.stream.sync()
            self.assertEqual(bytes_of(buffer), b"\6" * SIZE)
            buffer.close(self.stream)

    def test_pools_of_the_host(self):
        """cuda.core lets no device in, so a GPU copies their memory as the host's, and refuses to set it."""
        source = self.pinned.allocate(SIZE)
        source.fill(6, stream=self.stream)
        for options in (None, core.PinnedMemoryResourceOptions(), core.PinnedMemoryResourceOptions(numa_id=0)):
            pool = core.PinnedMemoryResource(options)
            self.assertTrue(pool.is_host_accessible and pool.is_device_accessible)
            buffer = pool.allocate(SIZE, stream=self.stream)
            buffer.copy_from(source, stream=self.stream)
            self.stream.sync()
            self.assertEqual(bytes_of(buffer), b"\6" * SIZE)
            with self.assertRaises(Exception) as caught:
                buffer.fill(7, stream=self.stream)
            self.assertIn("INVALID_VALUE", str(caught.exception))
            buffer.close(self.stream)

    def test_mapped_memory(self):
        options = core.VirtualMemoryResourceOptions(handle_type="posix_fd")
        memory = core.VirtualMemoryResource(self.device, config=options)
        buffer = memory.allocate(SIZE)
        self.assertGreaterEqual(buffer.size, SIZE)
        buffer.fill(3, stream=self.stream)
        self.assertEqual(set(self.there_and_back(buffer)), {3})
        buffer.close()


class Graphs(CudaCore):
    def test_a_captured_graph_runs_as_often_as_it_is_launched(self):
        buffer = self.device.allocate(SIZE, stream=self.stream)
        host = self.pinned.allocate(SIZE)
        calls = []
        builder = self.device.create_graph_builder().begin_building()
        left, right = builder.split(2)
        left.callback(lambda: calls.append(len(calls)))
        buffer.fill(7, stream=right)
        builder = GraphBuilder.join(left, right)
        buffer.copy_to(host, stream=builder)
        graph = builder.end_building().complete()
        graph.upload(self.stream)
        for _ in range(3):
            graph.launch(self.stream)
        self.stream.sync()
        self.assertEqual(calls, [0, 1, 2])
        self.assertEqual(bytes_of(host), b"\7" * SIZE)


if __name__ == "__main__":
    unittest.main()
