/* SPDX-License-Identifier: Apache-2.0 */
/* weir/interop/stream_protocols.h - C functions with which bindings exchange streams between
   languages: the method __cuda_stream__, the stream numbers of DLPack and of the CUDA array
   interface, and waits. They are in libweir.

   Every function returns 0, one of the driver's results (CUDA_ERROR_*), or one of weir's own codes
   below. No exception leaves a function. A function that fails does not write to its result
   pointers. An imported stream is borrowed: keep the object that it came from while the stream is
   used.

   Thread safety: all functions may be called from any thread. */
#ifndef WEIR_INTEROP_STREAM_PROTOCOLS_H
#define WEIR_INTEROP_STREAM_PROTOCOLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* A stream: CUstream and cudaStream_t. Null and 1 are the legacy default stream, 2 is the
   per-thread default stream. */
typedef struct CUstream_st* weir_stream;

/* weir's own codes. */
enum weir_result {
  WEIR_SUCCESS = 0,
  WEIR_INVALID_VALUE = 1, /* forbidden number, or null result pointer; Python's ValueError */
  WEIR_CLOSED = -1,       /* the handle of a closed weir stream */
  WEIR_WRONG_TYPE = -4    /* the foreign object does not follow the protocol; Python's TypeError */
};

/* Returns the message of the last function of this file that failed on this thread: one line, for
   the message of an exception. Empty if none has failed. It is valid until another function fails
   on this thread. */
const char* weir_last_error(void);

/* The method __cuda_stream__. */

/* What a language binding found when it called __cuda_stream__ on an object. */
enum weir_protocol_answer {
  WEIR_PROTOCOL_PAIR = 0,           /* a sequence of two integers */
  WEIR_PROTOCOL_NO_METHOD = 1,      /* the object has no __cuda_stream__ */
  WEIR_PROTOCOL_NOT_CALLABLE = 2,   /* __cuda_stream__ is not a method */
  WEIR_PROTOCOL_NOT_A_SEQUENCE = 3, /* the method returned something without elements */
  WEIR_PROTOCOL_WRONG_LENGTH = 4,   /* a sequence of more or fewer than two elements */
  WEIR_PROTOCOL_NOT_INTEGERS = 5    /* two elements, at least one of which is not an integer */
};

/* The result of the method __cuda_stream__: the version of the protocol, which is 0, and the
   stream's handle. */
struct weir_protocol_stream {
  long long version;
  unsigned long long handle;
};

/* Converts the result of a call of __cuda_stream__ to a stream. `answer` is one of
   weir_protocol_answer. If it is not WEIR_PROTOCOL_PAIR, `found` is not read and may be null.
   `type` is the name of the object's type for the message; it may be null. Makes no driver call.

   Errors: WEIR_WRONG_TYPE, with a specific message, if the answer is not a pair of integers or the
   version is not 0; WEIR_CLOSED for the handle of a closed weir stream; WEIR_INVALID_VALUE for an
   unknown answer. */
int weir_stream_from_protocol(int answer, const struct weir_protocol_stream* found,
                              const char* type, weir_stream* stream);

/* Sets *pair to what __cuda_stream__ of a binding's own stream class should return: (0, handle),
   with handle 1 for a null stream. Makes no driver call.

   Errors: WEIR_CLOSED. */
int weir_stream_to_protocol(weir_stream stream, struct weir_protocol_stream* pair);

/* DLPack: the argument `stream` of __dlpack__, the stream on which the consumer will use the
   data. */

/* Converts the number to the consumer's stream: 1 is the legacy default stream, 2 the per-thread
   default stream, other positive numbers are handles. A null `number` means that the consumer gave
   no number: the legacy default stream. For -1 the consumer needs no ordering: *needs_ordering
   becomes 0 and *stream does not change. Otherwise *needs_ordering becomes 1. Makes no driver call.

   Errors: WEIR_INVALID_VALUE for 0, which may mean either default stream, and for numbers below -1;
   WEIR_CLOSED. */
int weir_stream_from_dlpack(const long long* number, weir_stream* stream, int* needs_ordering);

/* Sets *number to the number of a stream: 1 for the legacy default stream, 2 for the per-thread
   default stream, else the handle. Makes no driver call.

   Errors: WEIR_CLOSED. */
int weir_stream_to_dlpack(weir_stream stream, long long* number);

/* The CUDA array interface, version 3: its entry `stream`, the stream on which the data is
   produced. */

/* Converts the number to the producer's stream: 1 is the legacy default stream, 2 the per-thread
   default stream, other positive numbers are handles. A null `number` means that the producer gave
   no number, because the data is ready: *needs_ordering becomes 0 and *stream does not change.
   Otherwise *needs_ordering becomes 1, and the consumer's stream has to wait for *stream. Makes no
   driver call.

   Errors: WEIR_INVALID_VALUE for 0, which the interface forbids, and for negative numbers;
   WEIR_CLOSED. */
int weir_stream_from_array_interface(const long long* number, weir_stream* stream,
                                     int* needs_ordering);

/* Sets *number to the number of a stream, as weir_stream_to_dlpack() does; never to 0. Makes no
   driver call.

   Errors: WEIR_CLOSED. */
int weir_stream_to_array_interface(weir_stream stream, long long* number);

/* Order of work in two streams. */

/* Makes later work of `consumer` wait for all work queued in `producer` so far, also on another
   device. Does not block the host. Does nothing if both are one stream. In a capture of `producer`,
   the capture extends to `consumer`.

   Errors: those of cuEventRecord and cuStreamWaitEvent; WEIR_CLOSED; CUDA_ERROR_NOT_PERMITTED in a
   host function. */
int weir_stream_wait(weir_stream consumer, weir_stream producer);

/* Blocks the calling thread until all work queued in `stream` so far has finished, for consumers
   that use the data on the host. The driver refuses it in a capture.

   Errors: those of cuStreamSynchronize; otherwise as weir_stream_wait. */
int weir_stream_sync(weir_stream stream);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_INTEROP_STREAM_PROTOCOLS_H */
