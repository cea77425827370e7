/* A function as a sink: it gets whole pieces, may refuse and call the library, and is let go of once. */
#include "check.h"

#include <pthread.h>

struct target {
    FILE *file;
    evl_log log;
    int pieces, refusals, releases;
    int refuse;        /* so many of the next calls */
    int calls_library; /* whether it calls the log from within */
    int in_sink;
};

static int take(void *context, const uint8_t *bytes, size_t len) {
    struct target *target = (struct target *)context;
    CHECK(target->releases == 0);
    CHECK(len > 0);
    if (target->refuse > 0) {
        target->refuse--;
        target->refusals++;
        return target->refusals % 2 == 0 ? ENOSPC : -7;
    }
    /* The header, a block, or the end. */
    CHECK(memcmp(bytes, "hdrb", 4) == 0 || (bytes[0] == 0 && bytes[1] == 18) || (bytes[0] == 0xff && len == 2));
    target->pieces++;
    if (target->file != NULL) CHECK(fwrite(bytes, 1, len, target->file) == len);
    if (target->calls_library) {
        evl_statistics statistics;
        evl_reader reader;
        evl_sink sink = null_sink(), current;
        uint64_t size;
        statistics.size = sizeof statistics;
        OK(evl_message(target->log, "within", EVL_NUL_ENDED));
        OK(evl_buffers_size(target->log, &size));
        OK(evl_get_sink(target->log, &current));
        GIVES(EVL_ERR_IN_SINK, evl_flush(target->log));
        GIVES(EVL_ERR_IN_SINK, evl_get_statistics(target->log, &statistics));
        GIVES(EVL_ERR_IN_SINK, evl_set_sink(target->log, sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
        GIVES(EVL_ERR_IN_SINK, evl_attach(target->log, sink, NULL, &reader));
        GIVES(EVL_ERR_USED, evl_sink_close(current));
        OK(evl_sink_release(current));
        OK(evl_sink_release(sink));
        target->calls_library = 0;
        target->in_sink = 1;
    }
    return 0;
}

static void release(void *context) { ((struct target *)context)->releases++; }

static void pieces_and_calls(void) {
    struct target target;
    evl_sink sink;
    char *path = path_of("callback.eventlog");
    memset(&target, 0, sizeof target);
    target.file = fopen(path, "wb");
    CHECK(target.file != NULL);
    OK(evl_sink_callback(take, release, &target, &sink));
    OK(evl_create(NULL, sink, &target.log));
    OK(evl_message(target.log, "first", EVL_NUL_ENDED));
    /* Nobody writes while a flush has returned and nothing comes. */
    OK(evl_flush(target.log));
    target.calls_library = 1;
    OK(evl_message(target.log, "second", EVL_NUL_ENDED));
    OK(evl_flush(target.log));
    CHECK(target.in_sink);
    CHECK(target.releases == 0);
    OK(evl_stop(target.log, NULL));
    OK(evl_drop(target.log));
    CHECK(target.releases == 1);
    GIVES(EVL_ERR_USED, evl_sink_close(sink));
    OK(evl_sink_release(sink));
    CHECK(target.releases == 1);
    CHECK(fclose(target.file) == 0);
    CHECK(count_in_file("callback.eventlog", "within") == 1);
    CHECK(count_in_file("callback.eventlog", "second") == 1);
    free(path);
}

static void refusals(void) {
    struct target target;
    evl_statistics statistics;
    evl_sink sink;
    char *path = path_of("refusing.eventlog");
    memset(&target, 0, sizeof target);
    target.file = fopen(path, "wb");
    target.refuse = 1;
    CHECK(target.file != NULL);
    OK(evl_sink_callback(take, release, &target, &sink));
    /* A header that is refused ends it. */
    REFUSED(EVL_ERR_SINK, "returned -7", evl_create(NULL, sink, &target.log));
    OK(evl_sink_release(sink));
    CHECK(target.releases == 1);
    target.releases = 0;

    OK(evl_sink_callback(take, release, &target, &sink));
    OK(evl_create(NULL, sink, &target.log));
    OK(evl_sink_release(sink));
    OK(evl_message(target.log, "kept", EVL_NUL_ENDED));
    OK(evl_flush(target.log));
    target.refuse = 1000000;
    OK(evl_message(target.log, "refused at first", EVL_NUL_ENDED));
    GIVES(EVL_ERR_SINK, evl_flush(target.log));
    GIVES(EVL_ERR_SINK, evl_stop(target.log, NULL));
    target.refuse = 0;
    statistics.size = sizeof statistics;
    OK(evl_stop(target.log, &statistics));
    CHECK(statistics.lost.sink == 0 && statistics.sink_errors > 0);
    GIVES(EVL_ERR_STOPPED, evl_stop(target.log, NULL));
    OK(evl_drop(target.log));
    CHECK(target.releases == 1);
    CHECK(fclose(target.file) == 0);
    CHECK(count_in_file("refusing.eventlog", "refused at first") == 1);
    free(path);
}

/* A sink that drops the log that it belongs to. */
static int drop_it(void *context, const uint8_t *bytes, size_t len) {
    struct target *target = (struct target *)context;
    (void)len;
    if (target->calls_library && bytes[1] == 18) {
        target->calls_library = 0;
        GIVES(EVL_ERR_IN_SINK, evl_drop(target->log));
        GIVES(EVL_ERR_STALE, evl_drop(target->log));
        target->in_sink = 1;
    }
    if (bytes[0] == 0xff) target->pieces++;
    return 0;
}

static pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released_ = PTHREAD_COND_INITIALIZER;

static void release_and_tell(void *context) {
    pthread_mutex_lock(&lock_);
    ((struct target *)context)->releases++;
    pthread_cond_signal(&released_);
    pthread_mutex_unlock(&lock_);
}

static void a_sink_that_drops_its_log(void) {
    struct target target;
    evl_sink sink;
    int code;
    memset(&target, 0, sizeof target);
    OK(evl_sink_callback(drop_it, release_and_tell, &target, &sink));
    OK(evl_create(NULL, sink, &target.log));
    OK(evl_sink_release(sink));
    OK(evl_flush(target.log));
    target.calls_library = 1;
    OK(evl_message(target.log, "the last", EVL_NUL_ENDED));
    code = evl_flush(target.log);
    CHECK(code == EVL_OK || code == EVL_ERR_STALE);
    pthread_mutex_lock(&lock_);
    while (target.releases == 0) pthread_cond_wait(&released_, &lock_);
    pthread_mutex_unlock(&lock_);
    CHECK(target.in_sink && target.pieces == 1);
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    pieces_and_calls();
    refusals();
    a_sink_that_drops_its_log();
    return 0;
}
