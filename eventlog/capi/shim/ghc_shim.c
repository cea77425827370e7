/* Between GHC's run-time system and libghceventlog. A Haskell program that is to have whole cuts is linked with this
 * file; compile it by ghc, which knows where Rts.h is. See ../haskell/README.md.
 *
 * It registers what the library cannot find out itself: how to make the run-time system hand over what is in its buffers
 * (from GHC 9.2 on a function does that; on 9.0 the buffers can be reached), and on 9.0 how to give them another size.
 * And where the program is linked with -optl-Wl,--wrap=startEventLogging the log goes to the library without a change to
 * the program's source. */
#include "Rts.h"
#include <stdint.h>
#include <stdlib.h>

/* As in eventlog.h, which need not be found to compile this. */
extern const EventLogWriter evl_ghc_writer;
typedef struct evl_ghc_rts {
    uint64_t size;
    int (*flush)(void);
    int (*resize)(uint64_t bytes);
    uint64_t (*buffer_bytes)(void);
} evl_ghc_rts;
extern int evl_ghc_set_rts(const evl_ghc_rts *functions);

/* The run-time system's own call at its start comes here where the linker is told to wrap it. */
bool __real_startEventLogging(const EventLogWriter *writer) __attribute__((weak));
bool __wrap_startEventLogging(const EventLogWriter *writer);
bool __wrap_startEventLogging(const EventLogWriter *writer) {
    return __real_startEventLogging(writer == &FileEventLogWriter ? &evl_ghc_writer : writer);
}

#if __GLASGOW_HASKELL__ >= 902

static int flush(void) {
    flushEventLog(NULL);
    return 0;
}

static const evl_ghc_rts functions = { sizeof(evl_ghc_rts), flush, NULL, NULL };

#elif __GLASGOW_HASKELL__ == 900

/* What GHC 9.0 has in private headers. Weak, as a run-time system without threads or without event log has not all of
 * it. */
typedef struct EventsBuf {
    StgInt8 *begin, *pos, *marker;
    StgWord64 size;
    StgWord16 capno;
} EventsBuf;
typedef struct Task_ Task;
extern EventsBuf *capEventBuf __attribute__((weak));
extern EventsBuf eventBuf __attribute__((weak));
extern bool eventlog_enabled __attribute__((weak));
extern pthread_mutex_t eventBufMutex __attribute__((weak));
extern uint32_t n_capabilities;
extern StgInt64 stat_getElapsedTime(void);
extern Task *newBoundTask(void);
extern void boundTaskExiting(Task *task);
extern void waitForCapability(Capability **cap, Task *task) __attribute__((weak));
extern void releaseCapability(Capability *cap) __attribute__((weak));
extern void stopAllCapabilities(Capability **cap, Task *task) __attribute__((weak));
extern void releaseAllCapabilities(uint32_t n, Capability *keep, Task *task) __attribute__((weak));

enum { MARKER = 24, LONGEST_EVENT = 2 + 8 + 2 + 65535 };

static void put(StgInt8 *at, StgWord64 value, int bytes) {
    while (bytes-- > 0) {
        at[bytes] = (StgInt8)value;
        value >>= 8;
    }
}

/* Begins a block in an empty buffer: every buffer begins with a marker. */
static void begin_block(EventsBuf *buf) {
    buf->pos = buf->marker = buf->begin;
    put(buf->pos, 18, 2);
    put(buf->pos + 2, (StgWord64)stat_getElapsedTime(), 8);
    put(buf->pos + 10, 0, 4);
    put(buf->pos + 14, 0, 8);
    put(buf->pos + 22, buf->capno, 2);
    buf->pos += MARKER;
}

static bool is_empty(const EventsBuf *buf) {
    return buf->pos == buf->begin || (buf->marker == buf->begin && buf->pos == buf->begin + MARKER);
}

static void flush_one(EventsBuf *buf) {
    if (buf->begin == NULL || is_empty(buf)) {
        return;
    }
    if (buf->marker != NULL) {
        put(buf->marker + 10, (StgWord64)(buf->pos - buf->marker), 4);
        put(buf->marker + 14, (StgWord64)stat_getElapsedTime(), 8);
    }
    evl_ghc_writer.writeEventLog(buf->begin, (size_t)(buf->pos - buf->begin));
    begin_block(buf);
}

/* All capabilities, held, so that nobody writes to their buffers. */
typedef struct { Task *task; Capability *cap; } World;

static World stop_world(void) {
    World world = { NULL, NULL };
    if (stopAllCapabilities != NULL) {
        world.task = newBoundTask();
        waitForCapability(&world.cap, world.task);
        stopAllCapabilities(&world.cap, world.task);
    }
    return world;
}

static void resume_world(World world) {
    if (stopAllCapabilities != NULL) {
        releaseAllCapabilities(n_capabilities, world.cap, world.task);
        releaseCapability(world.cap);
        boundTaskExiting(world.task);
    }
}

static void lock_shared(void) {
    if (&eventBufMutex != NULL) {
        pthread_mutex_lock(&eventBufMutex);
    }
}

static void unlock_shared(void) {
    if (&eventBufMutex != NULL) {
        pthread_mutex_unlock(&eventBufMutex);
    }
}

/* Whether there are buffers, and they are in use. */
static bool is_logging(void) {
    return &capEventBuf != NULL && capEventBuf != NULL && &eventlog_enabled != NULL && eventlog_enabled;
}

static int flush(void) {
    if (!is_logging()) {
        return 0;
    }
    World world = stop_world();
    for (uint32_t cap = 0; cap < n_capabilities; cap++) {
        flush_one(&capEventBuf[cap]);
    }
    lock_shared();
    flush_one(&eventBuf);
    unlock_shared();
    resume_world(world);
    return 0;
}

/* Puts other memory in the place of a buffer's. */
static void replace(EventsBuf *buf, StgInt8 *memory, uint64_t bytes) {
    flush_one(buf);
    free(buf->begin);
    buf->begin = memory;
    buf->size = bytes;
    begin_block(buf);
}

static int resize(uint64_t bytes) {
    if (!is_logging() || bytes < MARKER + LONGEST_EVENT) {
        return 1;
    }
    World world = stop_world();
    uint32_t count = n_capabilities + 1;
    StgInt8 **memory = calloc(count, sizeof(*memory));
    bool has_all = memory != NULL;
    for (uint32_t i = 0; has_all && i < count; i++) {
        memory[i] = malloc(bytes);
        has_all = memory[i] != NULL;
    }
    if (has_all) {
        for (uint32_t cap = 0; cap < n_capabilities; cap++) {
            replace(&capEventBuf[cap], memory[cap], bytes);
        }
        lock_shared();
        replace(&eventBuf, memory[count - 1], bytes);
        unlock_shared();
    } else if (memory != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            free(memory[i]);
        }
    }
    free(memory);
    resume_world(world);
    return has_all ? 0 : 1;
}

static uint64_t buffer_bytes(void) {
    return is_logging() ? capEventBuf[0].size : 0;
}

static const evl_ghc_rts functions = { sizeof(evl_ghc_rts), flush, resize, buffer_bytes };

#else

static const evl_ghc_rts functions = { sizeof(evl_ghc_rts), NULL, NULL, NULL };

#endif

__attribute__((constructor)) static void register_functions(void) {
    evl_ghc_set_rts(&functions);
}
