/* Between GHC's run-time system and libghceventlog. A Haskell program that is to have whole cuts is linked with this
 * file; compile it by ghc, which knows where Rts.h is. See ../haskell/README.md.
 *
 * It registers what the library cannot find out itself: how to make the run-time system hand over what is in its buffers
 * (from GHC 9.2 on a function does that; on 9.0 the buffers can be reached), and on 9.0 how to give them another size.
 * And where the program is linked with -optl-Wl,--wrap=startEventLogging the log goes to the library without a change to
 * the program's source. */
#include "Rts.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* As in eventlog.h, which need not be found to compile this. */
extern const EventLogWriter evl_ghc_writer;
typedef struct evl_ghc_rts {
    uint64_t size;
    int (*flush)(void);
    int (*resize)(uint64_t bytes);
    uint64_t (*buffer_bytes)(void);
} evl_ghc_rts;
extern int evl_ghc_set_rts(const evl_ghc_rts *functions);

/* Has the run-time system hand over what it holds every so often, as the environment says; see below. */
static void flush_now_and_then(void);

/* The run-time system's own call at its start comes here where the linker is told to wrap it. */
bool __real_startEventLogging(const EventLogWriter *writer) __attribute__((weak));
bool __wrap_startEventLogging(const EventLogWriter *writer);
bool __wrap_startEventLogging(const EventLogWriter *writer) {
    if (writer == &FileEventLogWriter) {
        writer = &evl_ghc_writer;
    }
    bool is_started = __real_startEventLogging(writer);
    if (is_started && writer == &evl_ghc_writer) {
        flush_now_and_then();
    }
    return is_started;
}

static void complain(const char *text) {
    const char *value = getenv("EVENTLOG_FLUSH_MS");
    fprintf(stderr, "eventlog: EVENTLOG_FLUSH_MS=%s: %s\n", value == NULL ? "" : value, text);
}

static bool is_flush_asked_for(void) {
    const char *value = getenv("EVENTLOG_FLUSH_MS");
    return value != NULL && *value != 0;
}

#if __GLASGOW_HASKELL__ >= 902

static int flush(void) {
    flushEventLog(NULL);
    return 0;
}

static void flush_now_and_then(void) {
    if (is_flush_asked_for()) {
        complain("this is for GHC 9.0; say +RTS --eventlog-flush-interval=SECONDS");
    }
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
extern uint32_t n_capabilities, taskCount;
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

/* EVENTLOG_FLUSH_MS: a thread that flushes, as GHC does from 9.2 on by --eventlog-flush-interval. It holds `flushing`
 * meanwhile, and the run-time system's end waits for that: who has stopped some of the capabilities while the end takes
 * the others would wait for ever. */
enum { LEAST_MS = 10, MOST_MS = 3600000 };

static struct {
    pthread_mutex_t flushing;
    /* The run-time system is ending. */
    bool is_over;
    /* The process that the thread is in; a child has no such thread, and may have the lock as it was. */
    pid_t process;
    struct timespec interval;
} timer = { .flushing = PTHREAD_MUTEX_INITIALIZER };

/* Whether the run-time system is ready to be stopped. While it makes itself ready it has a task for each capability but the
 * first; the next one runs the first Haskell code. */
static bool is_ready(void) {
    uint32_t tasks = __atomic_load_n(&taskCount, __ATOMIC_ACQUIRE);
    uint32_t capabilities = __atomic_load_n(&n_capabilities, __ATOMIC_RELAXED);
    return capabilities > 0 && tasks >= capabilities;
}

static void *run_timer(void *nothing) {
    bool has_begun = false, is_over = false;
    while (!is_over) {
        struct timespec rest = timer.interval;
        while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
        }
        pthread_mutex_lock(&timer.flushing);
        is_over = timer.is_over;
        /* Tasks may end later. */
        has_begun = has_begun || is_ready();
        if (has_begun && !is_over) {
            (void)flush();
        }
        pthread_mutex_unlock(&timer.flushing);
    }
    return nothing;
}

/* The run-time system calls this first of all when it ends, without a capability. A program may have such a function of
 * its own, which then takes the place of this one. */
void OnExitHook(void) __attribute__((weak));
void OnExitHook(void) {
    if (timer.process == getpid()) {
        pthread_mutex_lock(&timer.flushing);
        timer.is_over = true;
        pthread_mutex_unlock(&timer.flushing);
    }
}

static void flush_now_and_then(void) {
    /* A log that is started again finds the thread there. */
    if (!is_flush_asked_for() || timer.process == getpid()) {
        return;
    }
    char *end = NULL;
    errno = 0;
    long ms = strtol(getenv("EVENTLOG_FLUSH_MS"), &end, 10);
    if (errno != 0 || *end != 0 || ms < LEAST_MS || ms > MOST_MS) {
        complain("must be a number of milliseconds, from 10 to 3600000; nothing is flushed");
        return;
    }
    if (stopAllCapabilities == NULL) {
        complain("the program is not linked with -threaded; nothing is flushed");
        return;
    }
    timer.interval = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
    timer.process = getpid();
    /* Signals are the program's. */
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int refused = pthread_create(&thread, NULL, run_timer, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (refused != 0) {
        timer.process = 0;
        complain("no thread can be made; nothing is flushed");
        return;
    }
    pthread_detach(thread);
}

#else

static void flush_now_and_then(void) {
    if (is_flush_asked_for()) {
        complain("this is for GHC 9.0; nothing is flushed");
    }
}

static const evl_ghc_rts functions = { sizeof(evl_ghc_rts), NULL, NULL, NULL };

#endif

__attribute__((constructor)) static void register_functions(void) {
    evl_ghc_set_rts(&functions);
    if (&__real_startEventLogging == NULL && is_flush_asked_for()) {
        complain("the program is not linked with --wrap=startEventLogging; nothing is flushed");
    }
}
