/* Event logs in the format of GHC's run-time system, from C and C++.
 *
 *   evl_sink sink;  evl_log log;  evl_capability cap;
 *   evl_sink_file("my.eventlog", &sink);       where the log goes
 *   evl_create(NULL, sink, &log);              a running log
 *   evl_capability_new(log, &cap);             what one thread writes with
 *   evl_capability_message(cap, "hello", EVL_NUL_ENDED);
 *   evl_capability_release(cap);
 *   evl_drop(log);                             everything is in the file
 *   evl_sink_release(sink);
 *
 * CODES. Every function but evl_error_text, evl_last_error and those that allocate memory returns a code: EVL_OK (0), or
 * why it has not done what it was asked for. It has changed nothing then, unless it says so below. A pointer by which a
 * function hands something out must not be null, and is written to where the function returns EVL_OK alone,
 * unless it says otherwise.
 *
 * HANDLES. evl_log, evl_sink and the like are numbers that stand for objects. They are passed by value, and
 * may be copied. The value 0 stands for nothing (EVL_ERR_NULL). A handle that has been given back is stale for
 * ever (EVL_ERR_STALE): giving it back twice, or using it while another thread gives it back, is an error and
 * nothing worse. So is a number that is no handle of that kind (EVL_ERR_HANDLE). What a handle keeps is freed
 * when it is given back, and when no log or call needs it any more.
 *
 * THREADS. All functions may be called by any thread at any time. A capability is one thread's at a time: who
 * comes meanwhile gets EVL_ERR_BUSY, and its event is not in the log. Whatever "waits for the sink" may
 * take as long as the sink does. Emitting never does, unless the policy is EVL_WAIT. No function may be called by a
 * signal handler. A pipe or socket that nobody reads is an error of the sink, never a SIGPIPE.
 *
 * SIGNALS. The library's own threads (the collector, those at sockets, those of readers and of queues) refuse every
 * signal that can be refused, so that no handler of the program's runs on one. They are started by the functions that
 * make a log, redirect it, attach and listen; while such a call lasts, its thread takes no signals either, and
 * those that come meanwhile are handled when it returns.
 *
 * CALLBACKS. The function of evl_sink_callback is called while the log waits for it. It may emit events. What would
 * wait for the sink is refused there: EVL_ERR_IN_SINK. It must return: by no exception, and by no longjmp.
 *
 * FORK. Handles of a parent are refused in its child (EVL_ERR_FORKED), all calls return, and the child may start
 * logs of its own. The parent's log goes on, and nothing of it is written by the child. A fork waits while a
 * block is written to a FILE *, at most a second. (A process that is cloned by a bare system call, past the C
 * library, must not call this library.)
 *
 * SIZES. A structure whose first field is `size` is understood by its size, so that program and library may be of
 * different ages: put sizeof into it. Fields that the caller does not know of have their defaults; those that the
 * library does not know must be 0, else EVL_ERR_SIZE; in what the library fills in they become 0.
 *
 * BYTES, unless something else is said, are the unit of every size, and nanoseconds that of every time. */
#ifndef EVENTLOG_H
#define EVENTLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function of the library. */
#define EVL_API extern

/* ---- Codes ------------------------------------------------------------------------------------------------- */

/* What a function returns. The numbers stay; more may come. */
enum {
    EVL_OK = 0,
    EVL_EMPTY = 1,                 /* there is no chunk now */
    EVL_FINISHED = 2,              /* there will be no chunk any more */
    EVL_ERR_NULL = 16,             /* a null pointer or handle, where there must be one */
    EVL_ERR_HANDLE = 17,           /* no handle of that kind */
    EVL_ERR_STALE = 18,            /* the handle has been given back */
    EVL_ERR_FORKED = 19,           /* the handle belongs to the process that this one was forked from */
    EVL_ERR_BUSY = 20,             /* another call uses it at the moment */
    EVL_ERR_SIZE = 21,             /* no size of that structure */
    EVL_ERR_ARGUMENT = 22,         /* a value that is not allowed */
    EVL_ERR_TEXT = 23,             /* the text is not UTF-8 */
    EVL_ERR_MEMORY = 24,           /* no memory */
    EVL_ERR_LIMIT = 25,            /* there cannot be more of these */
    EVL_ERR_TOO_LARGE = 26,        /* the payload is too large for an event, or a result for the room given */
    EVL_ERR_PAYLOAD = 27,          /* the payload is not that of an event of this type */
    EVL_ERR_UNDECLARED = 28,       /* the log does not declare this event type */
    EVL_ERR_FULL = 29,             /* the buffer is full: the event is counted as lost */
    EVL_ERR_STOPPED = 30,          /* the log has been stopped */
    EVL_ERR_USED = 31,             /* that sink is in use, or has been used up */
    EVL_ERR_SINK = 32,             /* the sink did not take it */
    EVL_ERR_IN_SINK = 33,          /* called by a sink, which it would wait for */
    EVL_ERR_IO = 34,               /* the system refused it */
    EVL_ERR_NOT_RECORDING = 35,    /* the log has no flight recorder */
    EVL_ERR_DETACHED = 36,         /* the reader is not attached any more */
    EVL_ERR_PREVIOUS_SINK = 37,    /* the log was redirected, but its previous sink did not take the end */
    EVL_ERR_RELAYED = 38,          /* the log takes nothing but what the run-time system writes */
    EVL_ERR_OBJECT_NOT_ELF = 48,       /* objects: the file is no ELF file */
    EVL_ERR_OBJECT_MACHINE = 49,       /* it is for another kind of processor, or has 32 bits */
    EVL_ERR_OBJECT_TRUNCATED = 50,     /* the file ends too early */
    EVL_ERR_OBJECT_MALFORMED = 51,     /* the file contradicts itself */
    EVL_ERR_OBJECT_NOT_SHARED = 52,    /* it is no shared library */
    EVL_ERR_OBJECT_NO_NOTE = 53,       /* it is some library that is no object: built without EVL_OBJECT or object! */
    EVL_ERR_OBJECT_BAD_NOTE = 54,      /* its note is shorter than any version's */
    EVL_ERR_OBJECT_ABI = 55,           /* its tables are of another version, or a later one */
    EVL_ERR_OBJECT_WAY = 56,           /* it is built another way: without cost centres */
    EVL_ERR_OBJECT_SIZE = 57,          /* its tables have other sizes */
    EVL_ERR_OBJECT_FINGERPRINT = 58,   /* its tables are laid out otherwise */
    EVL_ERR_OBJECT_SYMBOLS = 59,       /* it needs evl_ symbols that this host does not have, or cannot offer */
    EVL_ERR_OBJECT_NO_TABLE = 60,      /* it has the note, but does not export its table */
    EVL_ERR_OBJECT_RESOLVERS = 61,     /* functions of it would run while it is loaded (ifunc), even if that fails */
    EVL_ERR_OBJECT_SHARED_STD = 62,    /* it shares Rust's standard library (-C prefer-dynamic) */
    EVL_ERR_OBJECT_LINKER = 63,        /* the dynamic linker refuses it */
    EVL_ERR_OBJECT_TABLE = 64,         /* its table in memory is not what its note promises */
    EVL_ERR_OBJECT_LOADED = 65,        /* it is loaded from that path already, or has registered itself */
    EVL_ERR_OBJECT_INIT = 66,          /* its init has refused */
    EVL_ERR_OBJECT_WITHIN = 67,        /* called by a constructor or destructor that a loader of this thread runs */
    EVL_ERR_OBJECT_IN_USE = 68,        /* it is in use, and stays loaded */
    EVL_ERR_OBJECT_UNLOADED = 69,      /* it is being unloaded, or has been */
    EVL_ERR_OBJECT_SYMBOL = 70,        /* it does not export that */
    EVL_ERR_PANIC = 99             /* an error of the library's own; the call's object may be of no more use */
};

/* What a code means, in English. Never null; good for ever. Any number may be asked about. */
EVL_API const char *evl_error_text(int code);

/* What the last call of this thread that has failed says of its failure: it names the value and the limit, or what
 * the system said. "" where none has failed yet. Good until another call of this thread fails, or the thread ends. */
EVL_API const char *evl_last_error(void);

/* ---- Handles ----------------------------------------------------------------------------------------------- */

typedef struct evl_log { uint64_t id; } evl_log;                 /* a log that is being written */
typedef struct evl_capability { uint64_t id; } evl_capability;   /* a buffer for one thread at a time */
typedef struct evl_sink { uint64_t id; } evl_sink;               /* where a log, a reader or a snapshot goes */
typedef struct evl_type { uint64_t id; } evl_type;               /* an event type of the program's own */
typedef struct evl_chunk { uint64_t id; } evl_chunk;             /* a piece of a log in memory */
typedef struct evl_reader { uint64_t id; } evl_reader;           /* a reader that is attached */
typedef struct evl_listener { uint64_t id; } evl_listener;       /* a socket at which readers come */
typedef struct evl_sticky { uint64_t id; } evl_sticky;           /* an event that is told to late readers */
typedef struct evl_object_file { uint64_t id; } evl_object_file; /* the file of a profiled object */
typedef struct evl_loaded { uint64_t id; } evl_loaded;           /* a profiled object that is loaded */
typedef struct evl_call { uint64_t id; } evl_call;               /* an open call to an object */
typedef struct evl_cost_centres { uint64_t id; } evl_cost_centres; /* a list of cost centres, as it was at one moment */
typedef struct evl_profiler { uint64_t id; } evl_profiler;       /* a profile that is being written to a log */

/* ---- Sinks ------------------------------------------------------------------------------------------------- */

/* A sink is made before it is used: by evl_create and evl_set_sink for a log, by evl_attach for a reader, by
 * evl_snapshot. A log's can be set again later, and is then restored; a reader's or a snapshot's is used up. A sink
 * gets whole blocks in few large writes. It may take a part, fail and recover, or block; what it refuses is kept
 * and offered again before anything else. The handle is given back with evl_sink_release, at any time. */

/* Flags. */
enum {
    EVL_CLOSE = 1,     /* the library owns the stream or descriptor, and closes it when the sink is let go */
    EVL_ANYWHERE = 2   /* evl_listen_tcp may be reached by other machines */
};

/* A new file, replacing one that is there. EVL_ERR_IO where it cannot be made. */
EVL_API int evl_sink_file(const char *path, evl_sink *sink);

/* A stream that is open for writing, and blocks where it must wait. Each block is written under the stream's
 * lock, with what the program has put into its buffer before it, and flushed: the program may go on using the
 * stream. It must stay open until the library has let it go; it is closed by EVL_CLOSE alone. A stream that fails in
 * the middle of a write, and is no file with a position, is spoilt: it takes nothing more, as nobody knows how
 * much it has taken. */
EVL_API int evl_sink_stream(FILE *stream, int flags, evl_sink *sink);

/* A file descriptor. The library keeps a duplicate; the caller may close its own at once, and EVL_CLOSE does. */
EVL_API int evl_sink_fd(int fd, int flags, evl_sink *sink);

/* A connection to a Unix socket, or to a TCP one ("127.0.0.1:4711", "name:4711"). Waits for the connection. A write that
 * takes longer than 5 seconds is an error, and is tried again. EVL_ERR_IO where nobody listens. */
EVL_API int evl_sink_unix(const char *path, evl_sink *sink);
EVL_API int evl_sink_tcp(const char *address, evl_sink *sink);

/* A function: it is called with each piece, by any thread, by one at a time, and returns 0 where it has taken all of
 * it, or an errno number: then it gets the same piece again later. The pieces of a sink are the header with what is
 * told again after it, a whole block, or the end marker (ff ff). `release` may be null; it is called once, when the
 * sink is let go, and `write` never after that. The bytes are the library's, and gone when the function returns. */
typedef int (*evl_write_fn)(void *context, const uint8_t *bytes, size_t len);
typedef void (*evl_release_fn)(void *context);
EVL_API int evl_sink_callback(evl_write_fn write, evl_release_fn release, void *context, evl_sink *sink);

/* What a log in memory does when its budget is used up. */
enum {
    EVL_KEEP_OLDEST = 0,   /* events wait in the buffers until chunks are released; then new ones are lost */
    EVL_KEEP_NEWEST = 1    /* the oldest chunk that nobody has taken is lost, counted as overwritten */
};

/* Memory, which the program takes out chunk by chunk; see below. `budget_bytes` bounds the chunks, taken ones
 * included until they are released; at least 1. */
EVL_API int evl_sink_memory(uint64_t budget_bytes, int when_full, evl_sink *sink);

/* A flight recorder: memory that keeps the newest `bytes` (at least 1) of the log, and of these what is younger than
 * `window_ns` (0: whatever its age), for evl_snapshot. */
EVL_API int evl_sink_recorder(uint64_t bytes, uint64_t window_ns, evl_sink *sink);

/* Takes everything and keeps nothing: for a log that is there for its readers. */
EVL_API int evl_sink_null(evl_sink *sink);

typedef struct evl_attach_options evl_attach_options;

/* Gives a sink that has not been used, and is no memory, a queue and a thread of its own: a write that blocks, for ever
 * even, holds up no call of the log and no reader. Of `options`, which may be null, queue_bytes and linger_ns are heeded:
 * blocks that do not fit into the queue are counted as lost to the sink, and told in its log; evl_stop and
 * evl_sink_close wait as long as it lingers; what it has not taken by then is lost, and EVL_ERR_SINK. That it does not
 * take the header is no error of evl_create or evl_set_sink, and evl_flush returns when everything is in the queue.
 * EVL_ERR_USED. */
EVL_API int evl_sink_queue(evl_sink sink, const evl_attach_options *options);

/* The stream that a sink of evl_sink_stream writes to. EVL_ERR_ARGUMENT where it is another kind of sink. */
EVL_API int evl_sink_get_stream(evl_sink sink, FILE **stream);

/* Ends the log in a sink that was kept by EVL_KEEP_PREVIOUS: offers what it has refused, writes the end marker, and lets
 * it go. EVL_OK where that has been done. EVL_ERR_USED where a log writes to it, or has ended there. Waits for the sink. */
EVL_API int evl_sink_close(evl_sink sink);

/* Gives the handle back. A log that writes to the sink goes on doing so. */
EVL_API int evl_sink_release(evl_sink sink);

/* ---- A log's life ------------------------------------------------------------------------------------------ */

/* What becomes of an event that its buffer has no room for. */
enum {
    EVL_DROP_NEWEST = 0,        /* it is dropped */
    EVL_OVERWRITE_OLDEST = 1,   /* the oldest chunk of the buffer makes room */
    EVL_GROW = 2,               /* the buffer grows, to `value` bytes at most; then as EVL_DROP_NEWEST */
    EVL_WAIT = 3                /* who emits waits, `value` nanoseconds at most (an hour); then as EVL_DROP_NEWEST */
};
typedef struct evl_policy {
    int32_t kind;
    uint32_t reserved;
    uint64_t value;
} evl_policy;

/* How a log is to be. Fill it in by evl_config_init, then change what is to be different. */
typedef struct evl_config {
    uint64_t size;                  /* sizeof(evl_config) */
    uint64_t buffer_bytes;          /* of each capability's buffer and of the shared one; at least 65571 (512 KiB) */
    uint64_t flush_interval_ns;     /* how long an event waits at most; at least 1 ms (100 ms) */
    evl_policy policy;              /* (EVL_DROP_NEWEST) */
    uint64_t sticky_bytes;          /* memory for what late readers are told (64 MiB) */
    uint64_t sink_backlog_bytes;    /* kept for a sink that refuses while readers go on (8 MiB) */
    const char *const *arguments;   /* the program's name and arguments, as the log shows them (null: the process's) */
    const evl_type *types;          /* the event types that the log declares, besides GHC's */
    uint64_t arguments_len;
    uint64_t types_len;
} evl_config;

/* Fills in the defaults. `size` is sizeof(evl_config). */
EVL_API int evl_config_init(evl_config *config, uint64_t size);

/* Starts a log: writes the header to the sink, and starts the collector's thread. `config` may be null. What it points
 * to is not needed any more when the call returns. Waits for the sink. Signals that come for this thread meanwhile
 * wait until it returns.
 * EVL_ERR_ARGUMENT: a size or a number out of bounds. EVL_ERR_USED: the sink has begun a log before. EVL_ERR_SINK: it
 * did not take the header. */
EVL_API int evl_create(const evl_config *config, evl_sink sink, evl_log *log);

typedef struct evl_statistics evl_statistics;

/* Ends the log: refuses further events, writes all that were emitted before, and the end marker, and flushes the sink.
 * `statistics` may be null; it is filled in whatever the outcome, its `size` must be set. Waits for the sink, and for
 * readers as long as they linger. The handle stays good, until evl_drop.
 * EVL_ERR_SINK: the sink did not take the end; evl_stop offers it once more. EVL_ERR_STOPPED: it has been stopped
 * before. EVL_ERR_IN_SINK: a callback of the log's sink calls; the log ends when that has returned. */
EVL_API int evl_stop(evl_log log, evl_statistics *statistics);

/* Stops the log and its profiler, if that has not been done, and gives the handle back, with those of its profiler,
 * readers, listeners and sticky events. Capabilities stay until they are released; their events are refused. The code is
 * that of stopping; the handle is stale whatever it is. (What is called by a sink does not stop the profiler, whose handle
 * stays good.) */
EVL_API int evl_drop(evl_log log);

/* Writes to the sink, and flushes it, every event that was emitted before the call. In memory it makes a chunk of them.
 * Waits for the sink. EVL_ERR_SINK: it refused; what it did not take is kept. */
EVL_API int evl_flush(evl_log log);

/* What becomes of the sink that a log is redirected away from. */
enum {
    EVL_CLOSE_PREVIOUS = 0,   /* it gets the end marker, is flushed, and let go */
    EVL_KEEP_PREVIOUS = 1     /* it stays as it is: it can be set again, or closed by evl_sink_close */
};
/* How the log begins in the new one. */
enum {
    EVL_HEADER = 0,    /* with the header and what a reader must know: a valid log from its first byte */
    EVL_CONTINUE = 1   /* with neither: the sink has begun a log before */
};

/* Goes on in another sink. Every event that was emitted before the call is in the old one, every one emitted after its
 * return in the new one, and others in one of both, with one moment in time for all threads. Nothing is lost. Threads that
 * emit do not wait; this call waits for both sinks, and signals for its thread wait for it.
 * EVL_ERR_USED: a log writes to the new sink, or has begun or ended one there (see EVL_CONTINUE). EVL_ERR_SINK: it did
 * not take the header, and nothing has changed. EVL_ERR_PREVIOUS_SINK: the log *has* been redirected; what the old
 * sink did not take is counted as lost. EVL_ERR_STOPPED. */
EVL_API int evl_set_sink(evl_log log, evl_sink sink, int previous, int start);

/* The sink that the log is written to: a new handle, to be released, by which it can be set again. Waits for nobody. */
EVL_API int evl_get_sink(evl_log log, evl_sink *sink);

/* Writes what the log's flight recorder keeps to a sink that has not been used: a valid log with every event that was
 * emitted before the call. The recorder keeps it. The sink is used up and let go, whatever the outcome. `bytes` may be
 * null. Waits for the collector, then for the sink, and disturbs nobody.
 * EVL_ERR_NOT_RECORDING, EVL_ERR_BUSY (another snapshot is being written), EVL_ERR_SINK. */
EVL_API int evl_snapshot(evl_log log, evl_sink sink, uint64_t *bytes);

/* Changes the bytes of every buffer while all write, all or nothing. EVL_ERR_ARGUMENT: less than 65571, or too many;
 * EVL_ERR_MEMORY. Nothing is lost. */
EVL_API int evl_resize(evl_log log, uint64_t buffer_bytes);

/* The bytes that were asked for, of each buffer. */
EVL_API int evl_buffers_size(evl_log log, uint64_t *buffer_bytes);

/* Changes the policy, and tells it. */
EVL_API int evl_set_policy(evl_log log, evl_policy policy);
EVL_API int evl_get_policy(evl_log log, evl_policy *policy);

/* The time of the log's clock now: nanoseconds since its start. */
EVL_API int evl_now(evl_log log, uint64_t *nanoseconds);

/* ---- Events ------------------------------------------------------------------------------------------------ */

/* Functions with `log` write to the shared buffer, for what is no capability's; those with `capability` to its buffer,
 * which is faster. Neither waits or does I/O, unless the policy is EVL_WAIT.
 * Codes of all of them: EVL_ERR_FULL and EVL_ERR_STOPPED, and the event is counted as lost; others, and it is not. */

/* The length of a text that ends with a NUL. */
#define EVL_NUL_ENDED ((size_t)-1)

/* A message, and a named moment that viewers draw over the whole timeline. Bytes that are not UTF-8 are replaced
 * by U+FFFD; what exceeds 65535 bytes is cut off, between two characters. */
EVL_API int evl_message(evl_log log, const char *text, size_t len);
EVL_API int evl_marker(evl_log log, const char *text, size_t len);
EVL_API int evl_capability_message(evl_capability capability, const char *text, size_t len);
EVL_API int evl_capability_marker(evl_capability capability, const char *text, size_t len);

/* An event of a type of GHC's format, or of a type that the log declares, by its id and its payload: the fields, big-endian,
 * as they lie in a log (without id, time and length).
 * EVL_ERR_TOO_LARGE: more than 65535 bytes. EVL_ERR_PAYLOAD: not the fields of that type, to the last byte.
 * EVL_ERR_UNDECLARED: no such type, or one that programs do not emit. */
EVL_API int evl_emit(evl_log log, uint16_t id, const uint8_t *payload, size_t len);
EVL_API int evl_capability_emit(evl_capability capability, uint16_t id, const uint8_t *payload, size_t len);

/* As evl_emit; and the event is told again after the header of every log that begins later, in a sink or for a reader,
 * until evl_sticky_remove. Takes a lock, and allocates. */
EVL_API int evl_emit_sticky(evl_log log, uint16_t id, const uint8_t *payload, size_t len, evl_sticky *sticky);
EVL_API int evl_capability_emit_sticky(evl_capability capability, uint16_t id, const uint8_t *payload, size_t len,
                                       evl_sticky *sticky);

/* Has it told no more, and gives the handle back. */
EVL_API int evl_sticky_remove(evl_sticky sticky);

/* A capability: a buffer for the events of one thread at a time, and a row of its own in a viewer. Allocates its buffer.
 * EVL_ERR_LIMIT (65535 at a time), EVL_ERR_MEMORY, EVL_ERR_STOPPED. */
EVL_API int evl_capability_new(evl_log log, evl_capability *capability);

/* The number under which readers know it: the lowest that was free. */
EVL_API int evl_capability_number(evl_capability capability, uint16_t *number);

/* Gives it back. Its events are in the log. EVL_ERR_BUSY where another thread is emitting with it. */
EVL_API int evl_capability_release(evl_capability capability);

/* ---- Event types of the program's own ---------------------------------------------------------------------- */

/* What a field holds. */
enum {
    EVL_U8 = 1,
    EVL_U16 = 2,
    EVL_U32 = 3,
    EVL_U64 = 4,
    EVL_I64 = 5,
    EVL_F64 = 6,
    EVL_STR = 7,    /* UTF-8 */
    EVL_BYTES = 8
};

typedef struct evl_field {
    const char *name;    /* 1 to 255 bytes of letters, digits, _, - and . */
    int32_t type;        /* EVL_U8 to EVL_BYTES */
    uint32_t reserved;   /* 0 */
} evl_field;

typedef struct evl_value {
    int32_t type;        /* that of its field */
    uint32_t reserved;   /* 0 */
    union {
        uint64_t u;      /* EVL_U8 to EVL_U64 */
        int64_t i;       /* EVL_I64 */
        double f;        /* EVL_F64 */
        struct {
            const uint8_t *data;
            size_t len;
        } bytes;         /* EVL_STR, EVL_BYTES: 65535 at most, all of an event together; the rest is cut off */
    } as;
} evl_value;

/* A type: a number from 0 to 959, a name, and at most 255 fields. It is declared by evl_config.types. */
EVL_API int evl_type_new(uint16_t number, const char *name, const evl_field *fields, size_t fields_len, evl_type *type);

/* The id of its events in a log, for evl_emit: 1088 and the number. */
EVL_API int evl_type_id(evl_type type, uint16_t *id);

/* Gives it back. Logs that declare it go on doing so. */
EVL_API int evl_type_release(evl_type type);

/* An event of values, one for each field in order. Allocates where there are more than 16.
 * EVL_ERR_PAYLOAD: too many, too few, or of another type. EVL_ERR_ARGUMENT: too large a number for its type.
 * EVL_ERR_TEXT: an EVL_STR that is not UTF-8. EVL_ERR_UNDECLARED, and the event is counted as lost. */
EVL_API int evl_emit_values(evl_log log, evl_type type, const evl_value *values, size_t values_len);
EVL_API int evl_capability_emit_values(evl_capability capability, evl_type type, const evl_value *values,
                                       size_t values_len);

/* ---- Chunks of a log in memory ----------------------------------------------------------------------------- */

/* A chunk is one or more whole blocks. The header, any chunk, and the bytes ff ff are a valid log; so are the header, all
 * chunks in order, and ff ff. A chunk comes when a thread has filled it, by evl_flush, when the log is redirected,
 * and when it ends. Each chunk comes out once, whoever takes it. */

/* The header of the log that goes there: a copy, to be freed with `free`. */
EVL_API int evl_chunk_header(evl_sink sink, uint8_t **bytes, size_t *len);

/* The oldest chunk as a copy, to be freed with `free`. Waits for one at most `timeout_ns` (0: not at all; UINT64_MAX: for
 * ever). EVL_EMPTY where the time is up, EVL_FINISHED as soon as nothing can come any more. EVL_ERR_MEMORY: it is the
 * next one again. EVL_ERR_ARGUMENT: the sink is not of evl_sink_memory. */
EVL_API int evl_chunk_copy(evl_sink sink, uint64_t timeout_ns, uint8_t **bytes, size_t *len);

/* As evl_chunk_copy, but nothing is copied: the chunk is the memory that the threads have written to. EVL_ERR_LIMIT where no
 * handle is left: none is taken out then. */
EVL_API int evl_chunk_take(evl_sink sink, uint64_t timeout_ns, evl_chunk *chunk);

/* Its bytes, good until it is released, also when the log is gone. */
EVL_API int evl_chunk_bytes(evl_chunk chunk, const uint8_t **bytes, size_t *len);

/* 1 where it is the last one of its log, else 0. */
EVL_API int evl_chunk_is_final(evl_chunk chunk, int *is_final);

/* Gives it back, and its memory to the budget. No thread may use its bytes any more. */
EVL_API int evl_chunk_release(evl_chunk chunk);

/* How many chunks can be taken now, and how many bytes of the budget are in use. Each may be null. */
EVL_API int evl_chunk_count(evl_sink sink, uint64_t *chunks, uint64_t *used_bytes);

/* ---- Readers ----------------------------------------------------------------------------------------------- */

/* How a reader is served; or a sink with a queue. */
struct evl_attach_options {
    uint64_t size;          /* sizeof(evl_attach_options) */
    uint64_t queue_bytes;   /* of blocks that may wait for it; those that do not fit are lost to it (8 MiB) */
    uint64_t linger_ns;     /* how long it is waited for when it is detached or the log stopped (1 s) */
    uint64_t readers;       /* that a listener serves at a time (64); at least 1 */
};

/* Fills in the defaults. `size` is sizeof(evl_attach_options). */
EVL_API int evl_attach_options_init(evl_attach_options *options, uint64_t size);

/* Attaches a reader: it gets a log of its own from now on, beside the sink, by a thread of its own. The sink must not
 * have been used, and is used up, whatever the outcome; it is let go when the reader ends. `options` may be null. A
 * reader that is slow, stuck or dead disturbs nobody. Waits for the log's sink.
 * EVL_ERR_USED, EVL_ERR_STOPPED, EVL_ERR_SINK (a log in memory has no room for what was emitted before). */
EVL_API int evl_attach(evl_log log, evl_sink sink, const evl_attach_options *options, evl_reader *reader);

typedef struct evl_reader_statistics evl_reader_statistics;

/* Lets a reader go: it gets what was emitted before, and the end. Waits for it as long as it lingers. `statistics` may be
 * null; its `size` must be set. The handle is stale then, but for EVL_ERR_IN_SINK and wrong arguments.
 * EVL_ERR_DETACHED: it has failed, or its log was stopped. */
EVL_API int evl_detach(evl_reader reader, evl_reader_statistics *statistics);

/* Serves the log at a socket: whoever connects is attached. A Unix socket is this user's alone. A TCP address is one of
 * this machine ("127.0.0.1:4711"), unless EVL_ANYWHERE is among the flags; port 0 is any that is free. `options`
 * may be null. EVL_ERR_IO: the socket cannot be had. EVL_ERR_STOPPED. */
EVL_API int evl_listen_unix(evl_log log, const char *path, const evl_attach_options *options, evl_listener *listener);
EVL_API int evl_listen_tcp(evl_log log, const char *address, int flags, const evl_attach_options *options,
                           evl_listener *listener);

/* Where it listens, as a text that ends with a NUL: the path, or the address with the port that was found.
 * EVL_ERR_TOO_LARGE where `len` bytes do not hold it. */
EVL_API int evl_listener_address(evl_listener listener, char *address, size_t len);

/* How many have connected and were not served, since there were as many readers as may be. */
EVL_API int evl_listener_refused(evl_listener listener, uint64_t *refused);

/* Closes the socket, and gives the handle back. Readers that have come stay attached. */
EVL_API int evl_listener_close(evl_listener listener);

/* ---- Statistics -------------------------------------------------------------------------------------------- */

/* Events lost, by cause. */
typedef struct evl_lost {
    uint64_t full;          /* refused by a full buffer */
    uint64_t overwritten;   /* taken in, and overwritten by newer ones */
    uint64_t stopped;       /* emitted after the log was stopped */
    uint64_t sink;          /* taken in, and never taken by the sink */
    uint64_t undeclared;    /* of a type that the log does not declare */
} evl_lost;

/* What has become of a log's events. */
struct evl_statistics {
    uint64_t size;                 /* sizeof(evl_statistics) */
    uint64_t elapsed_ns;           /* since the start, until the end */
    uint64_t events;               /* taken in, over all buffers */
    uint64_t blocks;               /* taken by the sinks */
    uint64_t bytes_written;        /* taken by the sinks */
    uint64_t sink_errors;          /* refusals; these alone lose nothing */
    uint64_t sticky_bytes;         /* memory of what late readers are told */
    uint64_t sticky_refused;       /* sticky events that will not be told, for want of sticky_bytes */
    evl_lost lost;                 /* over all buffers */
    uint64_t capabilities;         /* numbers ever used */
    uint64_t readers;              /* attached now */
    uint64_t reader_lost_events;   /* lost to readers, attached or not any more */
};

/* The same of one buffer. */
typedef struct evl_buffer_statistics {
    uint64_t size;           /* sizeof(evl_buffer_statistics) */
    uint64_t events;         /* taken in */
    uint64_t bytes;          /* of these */
    uint64_t blocks;         /* made of them */
    uint64_t buffer_bytes;   /* in force; 0 for a capability that is gone */
    uint64_t memory_bytes;   /* that its chunks take */
    evl_lost lost;
} evl_buffer_statistics;

/* What has become of the blocks of a reader. */
struct evl_reader_statistics {
    uint64_t size;            /* sizeof(evl_reader_statistics) */
    uint64_t blocks;          /* taken */
    uint64_t bytes_written;   /* taken */
    uint64_t queued_bytes;    /* waiting */
    uint64_t lost_events;     /* that did not fit into its queue, or came when it was gone */
    uint64_t lost_bytes;      /* of these */
    uint64_t has_failed;      /* 1 where its sink has failed */
};

/* The number of the shared buffer. */
#define EVL_SHARED ((uint16_t)0xffff)

/* Fill them in. Wait for the collector where it is writing. `size` must be set. EVL_ERR_ARGUMENT: a number that no capability
 * has had. */
EVL_API int evl_get_statistics(evl_log log, evl_statistics *statistics);
EVL_API int evl_get_buffer_statistics(evl_log log, uint16_t number, evl_buffer_statistics *statistics);
EVL_API int evl_get_reader_statistics(evl_reader reader, evl_reader_statistics *statistics);

/* ---- Profiled objects -------------------------------------------------------------------------------------- */

/* An object is a shared library with cost centres, named places in its code, which is built with eventlog_object.h in C and
 * C++, or with the package ghc-eventlog-object in Rust. A program loads it, calls it, and unloads it again; logs have the
 * definitions of its cost centres, and profiles say which of them threads were in:
 *
 *   evl_loaded object;  evl_function work;  evl_call call;  int outcome;
 *   evl_objects_define(log);                        from now on the log has all definitions
 *   evl_objects_load("./plugin.so", 0, &object);
 *   evl_loaded_function(object, "work", &work);
 *   if (evl_loaded_enter(object, &call) == EVL_OK) {
 *       ((int (*)(int))work)(7);
 *       evl_call_leave(call);
 *   }
 *   evl_loaded_unload(object, 1000000000, &outcome, NULL, 0);
 *
 * An object is judged by its file before any code of it runs; what does not fit is refused with one of the codes
 * EVL_ERR_OBJECT_..., and evl_last_error says what was found and what this host has. A copy of the file is loaded, so that
 * nothing happens when it is overwritten, and the same path can be loaded again while the old object goes on.
 *
 * Unloading ends in proof: no call is open, no thread is within a cost centre of it, the object's `fini` has run, its cost
 * centres are out of the list, and the dynamic linker says that it is mapped no more; or it says what keeps it.
 *
 * What an object promises: its constructors, `init`, `fini` and destructors load and unload no object. When its `fini` has
 * returned, no thread runs code of it, nothing calls it later (but destructors of thread locals, thread-specific keys, signal
 * handlers and functions for atexit, which are looked for), and no thread that has used it ends just then.
 *
 * Objects are the process's own: in a child that was forked after the library was first used, what looks into, loads, calls,
 * lists or profiles objects is EVL_ERR_FORKED; what the objects themselves do goes on there.
 *
 * A program that links the static library offers what objects need to the dynamic linker by itself when it loads the first
 * one; for objects that are opened by an ordinary dlopen before that, link it with -Wl,--export-dynamic-symbol=evl_*. Only
 * the static library sees which thread-specific keys an object makes, and deletes them before its code goes. With the shared
 * one an object that makes some, as those in Rust may, stays mapped (EVL_PINNED). */

/* What is known of an object, in its file or loaded. The texts are good until the handle that they were asked of is given
 * back, or the object unloaded. */
typedef struct evl_object_info {
    uint64_t size;               /* sizeof(evl_object_info) */
    const char *name;            /* what it calls itself; "" where the file does not tell */
    const char *path;            /* the file, as it was named; "" where there were only bytes */
    const char *needed;          /* libraries that it needs, with "; " between them */
    const char *pins;            /* what may keep it mapped when it is unloaded, as far as the file tells; "" for nothing */
    uint64_t number;             /* of the object in this process, from 1, never used again; 0 for a file */
    uint64_t way;                /* 1: with cost centres. Others are refused */
    uint64_t abi_major;          /* the version of its tables */
    uint64_t abi_minor;
    uint64_t cost_centres;       /* how many it has; 0 of a file without section headers */
    uint64_t constructors;       /* functions that run when it is loaded, besides its init */
    uint64_t memory_bytes;       /* that it takes when it is loaded */
    uint64_t registers_itself;   /* 1 where it does so when no loader loads it, else 0 */
} evl_object_info;

/* Looks into the file of an object, or into its bytes, and tells whether this host would load it. Runs nothing of it, maps
 * nothing, and reads the bytes alone, whatever they are. EVL_OK where it would be loaded; else why not. EVL_ERR_IO: the file
 * cannot be read. */
EVL_API int evl_objects_inspect(const char *path, evl_object_file *file);
EVL_API int evl_objects_inspect_bytes(const uint8_t *bytes, size_t len, evl_object_file *file);

/* What the file tells. `size` must be set. */
EVL_API int evl_object_file_info(evl_object_file file, evl_object_info *info);

/* Its cost centres, with 0 for their ids and flags. The list must be released as well. */
EVL_API int evl_object_file_cost_centres(evl_object_file file, evl_cost_centres *list);

/* Gives it back. */
EVL_API int evl_object_file_release(evl_object_file file);

/* Says that the program exports a symbol for its objects besides those of this library, by a name that begins with evl_. An
 * object that needs one that nobody has named is refused before any code of it runs. Names that begin otherwise
 * (EVL_ERR_ARGUMENT) objects need not be told: the dynamic linker looks for them. Once named is named for good. */
EVL_API int evl_objects_export(const char *name);

/* A flag: the file itself is loaded, not a copy, so that debuggers and perf find it. It must not be overwritten while it is
 * loaded, and is not loaded twice (EVL_ERR_OBJECT_LOADED). */
enum { EVL_DIRECT = 4 };

/* Loads an object: judges it, has the dynamic linker open it with all symbols resolved and none offered to others, takes its
 * cost centres into the list, defines them in the logs, and calls its init. Waits for the file, for others who load or unload,
 * and for the sinks of logs whose shared buffers are half full. Takes a file descriptor and the file's size of memory.
 * SIGPIPE is blocked for the calling thread meanwhile, and so for threads that the object's init starts.
 * Any EVL_ERR_OBJECT_... to SHARED_STD, EVL_ERR_IO: no code of it has run. LINKER, TABLE, LOADED, INIT, EVL_ERR_LIMIT: it
 * is unloaded again. EVL_ERR_IN_SINK. */
EVL_API int evl_objects_load(const char *path, int flags, evl_loaded *object);

/* What is known of it. `size` must be set. */
EVL_API int evl_loaded_info(evl_loaded object, evl_object_info *info);

/* Its cost centres, with their ids. The list must be released as well, and outlives the object. */
EVL_API int evl_loaded_cost_centres(evl_loaded object, evl_cost_centres *list);

/* A function, to be cast to its type, or a variable that the object exports. It may be kept, and used while a call to this
 * object is open. Takes locks of the dynamic linker. EVL_ERR_OBJECT_SYMBOL: it has no
 * such symbol. EVL_ERR_OBJECT_UNLOADED. */
typedef void (*evl_function)(void);
EVL_API int evl_loaded_function(evl_loaded object, const char *name, evl_function *function);
EVL_API int evl_loaded_variable(evl_loaded object, const char *name, void **variable);

/* Opens a call: the object is not unloaded until it is left, by this thread or another. Calls may be nested. Waits for
 * nobody; takes 60 ns together with leaving. EVL_ERR_OBJECT_UNLOADED: it is being unloaded; where that ends in
 * EVL_ERR_OBJECT_IN_USE it can be called again. EVL_ERR_LIMIT. */
EVL_API int evl_loaded_enter(evl_loaded object, evl_call *call);

/* Ends a call. No code of the object may be in use by it any more. A call that has ended is EVL_ERR_STALE. */
EVL_API int evl_call_leave(evl_call call);

/* What became of an object that was unloaded. */
enum {
    EVL_UNMAPPED = 0,   /* it is mapped no more, as the dynamic linker has been asked */
    EVL_PINNED = 1      /* it is out of the list and cannot be called, but is still mapped, for the reasons that are told */
};

/* Unloads an object: no call begins any more; waits at most `wait_ns` until none is open and no thread is within one of its
 * cost centres; waits for profilers; calls its fini; takes its cost centres out of the list, and tells the logs; has the
 * dynamic linker close it; and asks it whether the object is gone. Waits for the sinks of logs as evl_objects_load does.
 * `outcome` may be null. `reasons` may be null where `len` is 0: of the text of what keeps it mapped as much as `len` bytes
 * hold with a NUL, "" for EVL_UNMAPPED. The handle is stale then.
 * EVL_ERR_OBJECT_IN_USE: it is in use, or another thread is unloading it; it is loaded as before, can be called, and the handle
 * is good; evl_last_error says what uses it. EVL_ERR_IN_SINK and EVL_ERR_OBJECT_WITHIN leave it as it is, too. */
EVL_API int evl_loaded_unload(evl_loaded object, uint64_t wait_ns, int *outcome, char *reasons, size_t len);

/* The list of cost centres, of all objects: those that were loaded, and those that have registered themselves (see
 * EVL_SELF_REGISTER in eventlog_object.h: a program has cost centres of its own that way). It is a copy as of now: whatever is
 * loaded and unloaded, it stays as it is, with all its texts, until it is released. Waits for nobody. */
EVL_API int evl_objects_cost_centres(evl_cost_centres *list);

/* How many there are. */
EVL_API int evl_cost_centres_len(evl_cost_centres list, uint64_t *len);

/* A cost centre. Its texts are good until its list is released. */
typedef struct evl_cost_centre_info {
    uint64_t size;             /* sizeof(evl_cost_centre_info) */
    const char *label;
    const char *module;
    const char *srcloc;        /* where it is in the source */
    const char *object_name;
    uint64_t id;               /* from 1, never used again in this process; 0 of a file's */
    uint64_t flags;            /* 1: it stands for a constant that is evaluated once (EVL_CAF) */
    uint64_t object;           /* the number of its object; 0 of a file's */
} evl_cost_centre_info;

/* The one at that place, from 0 on, in the order of ids; and the one with that id. `size` must be set. EVL_ERR_ARGUMENT: there is
 * none. */
EVL_API int evl_cost_centres_get(evl_cost_centres list, uint64_t index, evl_cost_centre_info *info);
EVL_API int evl_cost_centres_find(evl_cost_centres list, uint32_t id, evl_cost_centre_info *info);

/* Gives it back. */
EVL_API int evl_cost_centres_release(evl_cost_centres list);

/* Defines every cost centre in a log, those that are there and those that come, until it is stopped: as sticky events, which
 * every sink and reader that begins later is told, also when the object is gone. Twice is once. Says in the log when objects
 * are loaded and unloaded. Each takes 128 bytes and its text of sticky_bytes. Waits for the log's sink where the shared
 * buffer is half full; what does not fit all the same is counted as `undefined`. So do constructors and destructors of objects
 * that register themselves, under the dynamic linker's lock: the sink must not call dlopen, dlclose or dlsym, nor wait for
 * a thread that does. EVL_ERR_RELAYED: the run-time system of
 * Haskell writes the log. EVL_ERR_IN_SINK. */
EVL_API int evl_objects_define(evl_log log);

/* What there is of objects, and what evl_malloc counts. */
typedef struct evl_objects_statistics {
    uint64_t size;           /* sizeof(evl_objects_statistics) */
    uint64_t objects;        /* in the list: loaded, or registered by themselves */
    uint64_t cost_centres;   /* in the list */
    uint64_t undefined;      /* definitions that some log has not taken, since its buffer was full */
    uint64_t live_bytes;     /* of evl_malloc and its kin */
    uint64_t live_stacks;    /* stacks of cost centres that have allocated, and are told apart; at most 3072 */
    uint64_t live_others;    /* allocations by further ones, which are told as one */
} evl_objects_statistics;

/* Fills them in. `size` must be set. EVL_ERR_IN_SINK. */
EVL_API int evl_objects_get_statistics(evl_objects_statistics *statistics);

/* ---- The stack of cost centres ------------------------------------------------------------------------------ */

/* Code of an object enters and leaves its cost centres by evl_enter and evl_leave of eventlog_object.h, both together for 5 ns
 * or less. This is for who knows a cost centre by its id, as an interpreter does.
 *
 * Enters one that is in the list now, on this thread. What comes out goes to evl_stack_leave, on the same thread. One that
 * the thread entered last is not entered again; those deeper than 255 count for the last that fits. EVL_ERR_ARGUMENT: no
 * object that is loaded has it. An object is not unloaded while a thread is within one of its cost centres. */
EVL_API int evl_stack_enter(uint32_t id, uint32_t *entered);

/* Leaves it, and whatever this thread has entered since. EVL_ERR_ARGUMENT: the stack is not as deep. */
EVL_API int evl_stack_leave(uint32_t entered);

/* The stack of this thread: its ids, innermost first, as many as `len` of them (`ids` may be null where it is 0), and how deep
 * it is. Takes no lock. */
EVL_API int evl_stack_get(uint32_t *ids, size_t len, size_t *depth);

/* ---- Profiles ----------------------------------------------------------------------------------------------- */

/* How a profile is made. */
typedef struct evl_profiler_options {
    uint64_t size;       /* sizeof(evl_profiler_options) */
    uint64_t tick_ns;    /* time between two looks at all stacks (1 ms); at least 50000; 0: no profile by time */
    uint64_t has_heap;   /* 1: profile by bytes, as evl_malloc counts them (0) */
    uint64_t heap_ns;    /* time between two samples of these; at least 50000; 0: at the end and on demand (0) */
} evl_profiler_options;

/* Fills in the defaults. `size` is sizeof(evl_profiler_options). */
EVL_API int evl_profiler_options_init(evl_profiler_options *options, uint64_t size);

/* What a profiler has done. */
typedef struct evl_profiler_statistics {
    uint64_t size;            /* sizeof(evl_profiler_statistics) */
    uint64_t ticks;           /* at which stacks were read */
    uint64_t late;            /* ticks that were left out, since the thread had no turn, or the log kept it waiting */
    uint64_t stacks;          /* written, of all ticks */
    uint64_t missed;          /* stacks that were not, since they changed too often while they were read */
    uint64_t lost;            /* events that the log did not take */
    uint64_t heap_samples;    /* written */
    uint64_t heap_failures;   /* samples that were not, since the log's sink refused */
} evl_profiler_statistics;

/* Starts a profile: defines all cost centres in the log, as evl_objects_define does, and starts a thread that writes which of
 * them each thread is in, many times a second, without stopping any. `options` may be null. One for a log: two would tell
 * each tick twice. Waits for the log's sink. Each cost centre that a sample speaks of is defined before it, in every sink.
 * EVL_ERR_ARGUMENT: neither time nor bytes, or a time that is too short. EVL_ERR_STOPPED, EVL_ERR_FULL, EVL_ERR_SINK,
 * EVL_ERR_RELAYED; EVL_ERR_IO: no thread can be had; EVL_ERR_IN_SINK. */
EVL_API int evl_profiler_start(evl_log log, const evl_profiler_options *options, evl_profiler *profiler);

/* Writes a sample of what is live. Waits for the log's sink, and allocates. EVL_ERR_ARGUMENT: bytes are not profiled.
 * EVL_ERR_STOPPED, EVL_ERR_SINK, EVL_ERR_FULL (what is missing is counted as lost), EVL_ERR_IN_SINK. */
EVL_API int evl_profiler_sample_heap(evl_profiler profiler);

/* Fills them in. `size` must be set. EVL_ERR_IN_SINK. */
EVL_API int evl_profiler_get_statistics(evl_profiler profiler, evl_profiler_statistics *statistics);

/* Ends the profile, with a last sample of bytes if they are profiled, and gives the handle back. To be called before the log is
 * stopped, which takes no sample any more (evl_drop does both). `statistics` may be null; its `size` must be set. Waits for
 * the profiler's thread and for the log's sink. EVL_ERR_IN_SINK, and the handle is good. */
EVL_API int evl_profiler_stop(evl_profiler profiler, evl_profiler_statistics *statistics);

/* As malloc, calloc, realloc and free, for any thread: memory that is aligned to 16 bytes, and counted for the stack of cost
 * centres that allocates it, with 16 bytes more for each block. 0 bytes are a block, too. Null where there is no memory. A
 * block goes to evl_realloc and evl_free alone, and no other there. An object that calls these needs evl_objects_export for
 * them, and where the library is static a program that exports them. */
EVL_API void *evl_malloc(size_t size);
EVL_API void *evl_calloc(size_t count, size_t size);
EVL_API void *evl_realloc(void *block, size_t size);
EVL_API void evl_free(void *block);

/* ---- Haskell programs -------------------------------------------------------------------------------------- */

/* GHC's run-time system (9.0 to 9.14) writes its event log with functions that it is given before it starts; see
 * haskell/README.md for the ways to give it these. They copy what it hands over and return: the threads of the program never
 * wait for a disk. What comes to more than the budget is lost, counted, and told in the log in its place.
 *
 * A process has one such log. It begins with the first thing that the run-time system writes, whatever is stopped and
 * started meanwhile, and ends with the process (or by evl_stop): at exit everything is delivered. It begins in the sink
 * that is set before, or in the one that the environment names:
 *
 *   EVENTLOG_MODE     file (the default), memory (chunks), flight (a flight recorder; at exit it is written to EVENTLOG_SINK,
 *                     if there is one)
 *   EVENTLOG_SINK     a path, in which %p stands for the process's number; - for standard output; unix:PATH or
 *                     tcp:ADDRESS:PORT for a socket where somebody listens; none. Else PROGRAM.eventlog
 *   EVENTLOG_BUDGET   bytes (K, M, G behind them): of what the sink has not taken (16M), of chunks (64M), of the flight
 *                     recorder (16M); at least 65571
 *   EVENTLOG_LISTEN   unix:PATH or tcp:ADDRESS:PORT, where readers are served
 *
 * A wrong value is told on standard error, and the default holds. So is a sink that is wrong or cannot be had; then
 * nothing is written.
 *
 * A child of forkProcess has a log of its own: its file has the process's number, where %p says or after a dot at the
 * end; memory is its own; otherwise, and where its parent has been redirected by a call, nothing is written, until the
 * child sets a sink. It is not served.
 *
 * "Whole": before the log is cut or flushed the run-time system is made to hand over what is in its own buffers (2 MiB
 * each), so that every event that was emitted before the call is in. That is possible from GHC 9.2 on where `flushEventLog`
 * can be found, which the shim and a dynamic run-time system see to, and on 9.0 with the shim. Else the cut is between what
 * has been handed over and what has not. The threads of the program are stopped for it, for as long as a garbage collection
 * takes to begin: these functions must be called by a `safe` foreign import, or by a thread that runs no Haskell. */

/* What the run-time system calls: its type is that of `EventLogWriter` in Rts.h. For RtsConfig.eventlog_writer:
 * (const EventLogWriter *)&evl_ghc_writer. */
typedef struct evl_ghc_functions {
    void (*init)(void);
    bool (*write)(void *bytes, size_t len);   /* by any threads at once; true, whatever becomes of it */
    void (*flush)(void);
    void (*stop)(void);                       /* waits for the sink */
} evl_ghc_functions;
EVL_API const evl_ghc_functions evl_ghc_writer;

/* The log, for all that can be done to one: attach, listen, snapshot, statistics... There is no other handle of it, and
 * evl_drop ends it. EVL_EMPTY where it has not begun. Events cannot be emitted to it (EVL_ERR_RELAYED). */
EVL_API int evl_ghc_log(evl_log *log);

/* As evl_set_sink, at a whole cut; or says where the log is to begin. `whole` may be null; it is 1 where the cut is whole,
 * and else 0. */
EVL_API int evl_ghc_set_sink(evl_sink sink, int previous, int start, int *whole);

/* As rts_setEventLogSink, with a code. */
EVL_API int evl_ghc_set_stream(FILE *stream, int previous, int start, int *whole);

/* As evl_flush; of everything that was emitted before, where `whole`, which may be null, is 1 then. EVL_EMPTY where the log
 * has not begun. */
EVL_API int evl_ghc_flush(int *whole);

/* As rts_resizeEventLog, with a code. `both` may be null; it is 1 where the run-time system's own buffers were resized, too.
 * EVL_ERR_ARGUMENT: less than 65571. EVL_ERR_MEMORY: nothing has changed. */
EVL_API int evl_ghc_resize(uint64_t bytes, int *both);

/* As evl_listen_unix, until the process ends. As evl_snapshot, to a new file. EVL_EMPTY where the log has not begun. */
EVL_API int evl_ghc_listen(const char *path);
EVL_API int evl_ghc_snapshot(const char *path);

/* As evl_chunk_header, of the memory that rts_getEventLogChunk takes from. EVL_EMPTY where there is none. */
EVL_API int evl_ghc_chunk_header(uint8_t **bytes, size_t *len);

/* What the library cannot find out itself, by functions that it may call from any thread that may call those above. Each may
 * be null. The shim registers them before `main`. */
typedef struct evl_ghc_rts {
    uint64_t size;                    /* sizeof(evl_ghc_rts) */
    int (*flush)(void);               /* hands over all that is in the buffers of the run-time system: 0 where it has */
    int (*resize)(uint64_t bytes);    /* gives each of them that size: 0, or anything else and nothing has changed */
    uint64_t (*buffer_bytes)(void);   /* the size of each; 0 where it is not known */
} evl_ghc_rts;
EVL_API int evl_ghc_set_rts(const evl_ghc_rts *functions);

/* The functions that were asked for in 2016 for GHC itself, by the names and types of then (StgBool is int, StgInt8 int8_t,
 * StgWord64 uint64_t). Why one has not done what it was asked for, evl_last_error says.
 *
 * Goes on in `sink`, which must be open for writing, at a whole cut; in memory where it is null. The previous one gets the
 * end of its log and is closed by fclose where closePrev is not 0; else it stays as it is, and can be set again. With
 * emitHeader the log there is valid from its first byte; without, it goes on where it was.
 *
 * The previous one is the one whose place `sink` takes, also where other threads redirect the log meanwhile, by whatever
 * function. It is closed once: a sink of evl_sink_stream with EVL_CLOSE closes its stream itself. Whoever asks for that gives
 * the stream away: nobody may use it any more, set it again, or have made another sink of it. */
EVL_API void rts_setEventLogSink(FILE *sink, int closePrev, int emitHeader);

/* The stream that the log is written to; null where it is none. It is not to be used until another one is set. */
EVL_API FILE *rts_getEventLogSink(void);

/* The oldest chunk of a log in memory: its length, and a copy, to be freed with `free`. 0 and null where there is none. A
 * chunk comes when the run-time system hands over what is in one of its buffers. The header, which is not among the chunks,
 * any chunk, and ff ff are a valid log; evl_chunk_header gives it. */
EVL_API uint64_t rts_getEventLogChunk(int8_t **chunk);

/* Changes the buffers while the program runs: those of the run-time system (each gets `size` bytes, on GHC 9.0 with the
 * shim), and the budget of the log: eight such buffers, and no less than EVENTLOG_BUDGET; or `size` where only that can be
 * changed. All or nothing; at least 65571. Capabilities that come later have buffers of GHC's size. */
EVL_API void rts_resizeEventLog(uint64_t size);

/* Bytes of each of the run-time system's buffers, where that is known; else the budget. 0 where the log has not begun. */
EVL_API uint64_t rts_getEventLogBuffersSize(void);

#ifdef __cplusplus
}
#endif

#endif
