/* weir/interop/stream_protocols.h - streams between languages, as C functions that a binding can
   use: the method
   __cuda_stream__, the stream numbers of DLPack and of the CUDA array interface, and waits. libweir
   has them.

   Every function answers with a number: 0, one of the driver's results (CUDA_ERROR_*), or one of
   weir's own below. None lets an exception out. Where a function fails, what it was to write stays
   as it was. What is imported is borrowed: the object that it came from has to be kept while the
   stream is used. Thread safety: from any thread. */
#ifndef WEIR_INTEROP_STREAM_PROTOCOLS_H
#define WEIR_INTEROP_STREAM_PROTOCOLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* A stream: CUstream and cudaStream_t. Null and 1 are the legacy default stream, 2 is the
 * per-thread one. */
typedef struct CUstream_st* weir_stream;

enum weir_result {
  WEIR_SUCCESS = 0,
  WEIR_INVALID_VALUE =
      1, /* a number that the protocol forbids, or no place for the result; Python's ValueError */
  WEIR_CLOSED = -1,    /* the handle of a stream of weir's that was closed */
  WEIR_WRONG_TYPE = -4 /* the foreign object is not what its protocol says; Python's TypeError */
};

/* What the last failed function of this file said in this thread: one line, for the message of an
   exception. Empty where none has failed. It stays until another one fails in this thread. */
const char* weir_last_error(void);

/* The method __cuda_stream__. */

/* What a binding found when it asked an object of its language for its stream. */
enum weir_protocol_answer {
  WEIR_PROTOCOL_PAIR = 0,           /* a sequence of two integers */
  WEIR_PROTOCOL_NO_METHOD = 1,      /* the object has no __cuda_stream__ */
  WEIR_PROTOCOL_NOT_CALLABLE = 2,   /* it has one, which is no method */
  WEIR_PROTOCOL_NOT_A_SEQUENCE = 3, /* the method gave something that has no elements */
  WEIR_PROTOCOL_WRONG_LENGTH = 4,   /* a sequence of other than two elements */
  WEIR_PROTOCOL_NOT_INTEGERS = 5    /* two elements, and one of them is no integer */
};

/* What the method gives: the version of the protocol, 0, and the handle. */
struct weir_protocol_stream {
  long long version;
  unsigned long long handle;
};

/* The stream that a foreign object is. `answer` is one of the above; of others than a pair `found`
   is not looked at and may be null. `type` is the name of the object's type, for the text; it may
   be null. Makes no driver call. WEIR_WRONG_TYPE for what is not a pair of integers and for a
   version other than 0, each with a text of its own; WEIR_CLOSED; WEIR_INVALID_VALUE for an answer
   that is none of the above. */
int weir_stream_from_protocol(int answer, const struct weir_protocol_stream* found,
                              const char* type, weir_stream* stream);

/* What __cuda_stream__ of a binding's own stream gives: (0, handle), and handle 1 for null. No
 * driver call. WEIR_CLOSED. */
int weir_stream_to_protocol(weir_stream stream, struct weir_protocol_stream* pair);

/* DLPack: the argument `stream` of __dlpack__, the stream on which the consumer is going to use the
 * data. */

/* `number` is null where none was given, which means the legacy default stream. For -1 the consumer
   wants no order: *wanted is 0 and *stream stays as it was; else *wanted is 1. No driver call.
   WEIR_INVALID_VALUE for 0, which may mean either default stream, and for what is below -1;
   WEIR_CLOSED. */
int weir_stream_from_dlpack(const long long* number, weir_stream* stream, int* wanted);

/* 1, 2, or the handle. No driver call. WEIR_CLOSED. */
int weir_stream_to_dlpack(weir_stream stream, long long* number);

/* The CUDA array interface, version 3: its entry `stream`, on which the data is being made. */

/* `number` is null where none was given: the data is there, *wanted is 0 and *stream stays as it
   was; else *wanted is 1, and the consumer's stream has to wait for *stream. No driver call.
   WEIR_INVALID_VALUE for 0, which the interface forbids, and below; WEIR_CLOSED. */
int weir_stream_from_array_interface(const long long* number, weir_stream* stream, int* wanted);

/* 1, 2, or the handle; never 0. No driver call. WEIR_CLOSED. */
int weir_stream_to_array_interface(weir_stream stream, long long* number);

/* Order. */

/* Later work of `consumer` starts after all work that `producer` has been given so far, also of
   another device. The host goes on at once. Nothing if they are one stream. In a capture of
   `producer` the capture spreads to `consumer`. Answers what cuEventRecord or cuStreamWaitEvent
   does; WEIR_CLOSED; CUDA_ERROR_NOT_PERMITTED in a host function. */
int weir_stream_wait(weir_stream consumer, weir_stream producer);

/* Blocks the calling thread until all work queued so far is done: for consumers that use the data
   on the host. In a capture the driver refuses it. Answers what cuStreamSynchronize does; else as
   weir_stream_wait. */
int weir_stream_sync(weir_stream stream);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_INTEROP_STREAM_PROTOCOLS_H */
