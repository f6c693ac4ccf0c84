"""weir's C functions for bindings, by ctypes: as a binding in Python uses them. Needs nothing but Python.

usage: stream_protocols_test.py LIBWEIR
"""

import ctypes
import sys
import unittest

weir = ctypes.CDLL(sys.argv.pop(1))
weir.weir_last_error.restype = ctypes.c_char_p

PAIR, NO_METHOD, NOT_CALLABLE, NOT_A_SEQUENCE, WRONG_LENGTH, NOT_INTEGERS = range(6)
SUCCESS, INVALID_VALUE, WRONG_TYPE = 0, 1, -4


class Pair(ctypes.Structure):
    _fields_ = [("version", ctypes.c_longlong), ("handle", ctypes.c_ulonglong)]


def check(answer):
    """The exception that a binding makes of an answer."""
    if answer == SUCCESS:
        return
    text = weir.weir_last_error().decode()
    raise {INVALID_VALUE: ValueError, WRONG_TYPE: TypeError}.get(answer, RuntimeError)(text)


def found_in(thing):
    """What there is in the place of a stream: an answer, and the pair if it is one."""
    method = getattr(thing, "__cuda_stream__", None)
    if method is None:
        return NO_METHOD, None
    if not callable(method):
        return NOT_CALLABLE, None
    try:
        elements = list(method())
    except TypeError:
        return NOT_A_SEQUENCE, None
    if len(elements) != 2:
        return WRONG_LENGTH, None
    if not all(isinstance(element, int) for element in elements):
        return NOT_INTEGERS, None
    return PAIR, Pair(*elements)


def import_stream(thing):
    answer, pair = found_in(thing)
    stream = ctypes.c_void_p()
    name = type(thing).__name__.encode()
    check(weir.weir_stream_from_protocol(answer, ctypes.byref(pair) if pair else None, name, ctypes.byref(stream)))
    return stream.value


def from_number(function, number):
    stream, wanted = ctypes.c_void_p(), ctypes.c_int()
    value = None if number is None else ctypes.byref(ctypes.c_longlong(number))
    check(function(value, ctypes.byref(stream), ctypes.byref(wanted)))
    return stream.value if wanted.value else None


class Foreign:
    def __init__(self, gives):
        self.gives = gives

    def __cuda_stream__(self):
        return self.gives


class Attribute:
    __cuda_stream__ = (0, 1)


class StreamProtocols(unittest.TestCase):
    def test_streams_are_imported(self):
        self.assertEqual(import_stream(Foreign((0, 1))), 1)
        self.assertEqual(import_stream(Foreign([0, 0x1234])), 0x1234)

    # Rule 154.
    def test_each_wrong_shape_is_a_type_error_with_its_own_text(self):
        wrong = [object(), Attribute(), Foreign(5), Foreign((0, 1, 2)), Foreign((0, "1")), Foreign((1, 1))]
        texts = set()
        for thing in wrong:
            with self.assertRaises(TypeError) as caught:
                import_stream(thing)
            self.assertIn(f"'{type(thing).__name__}'", str(caught.exception))
            texts.add(str(caught.exception).split(";")[1])
        self.assertEqual(len(texts), len(wrong))

    # Rule 155.
    def test_numbers_of_dlpack(self):
        taken = {None: 1, 1: 1, 2: 2, -1: None, 0x1234: 0x1234}
        for number, stream in taken.items():
            self.assertEqual(from_number(weir.weir_stream_from_dlpack, number), stream)
        for number in (0, -2):
            with self.assertRaises(ValueError):
                from_number(weir.weir_stream_from_dlpack, number)

    # Rule 156.
    def test_zero_is_not_exported(self):
        number, pair = ctypes.c_longlong(), Pair()
        for function in (weir.weir_stream_to_dlpack, weir.weir_stream_to_array_interface):
            check(function(None, ctypes.byref(number)))
            self.assertEqual(number.value, 1)
        check(weir.weir_stream_to_protocol(None, ctypes.byref(pair)))
        self.assertEqual((pair.version, pair.handle), (0, 1))
        with self.assertRaises(ValueError):
            from_number(weir.weir_stream_from_array_interface, 0)
        self.assertIsNone(from_number(weir.weir_stream_from_array_interface, None))


if __name__ == "__main__":
    unittest.main()
