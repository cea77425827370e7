/* The log that the run-time system writes, which is played by the program: sinks that call back, and nowhere to complain. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>

/* What hangs ends. (The library may have blocked the signals by which somebody else could end it.) */
static void *watch(void *unused) {
    struct timespec time = {60, 0};
    nanosleep(&time, NULL);
    fprintf(stderr, "a call does not return\n");
    _exit(1);
    return unused;
}

static int codes_[8];
static int called_;

/* Asks for everything that no call would wait for the sink for. */
static int asks(void *context, const uint8_t *bytes, size_t len) {
    evl_log log;
    uint8_t *header;
    size_t header_len;
    int8_t *chunk;
    (void)context;
    (void)bytes;
    (void)len;
    codes_[0] = evl_ghc_log(&log);
    codes_[1] = evl_ghc_chunk_header(&header, &header_len);
    codes_[2] = rts_getEventLogSink() == NULL;
    codes_[3] = rts_getEventLogChunk(&chunk) == 0;
    codes_[4] = evl_ghc_resize(1, NULL);
    called_++;
    return 0;
}

static evl_sink asking_sink(void) {
    evl_sink sink;
    OK(evl_sink_callback(asks, NULL, NULL, &sink));
    return sink;
}

int main(int argc, char **argv) {
    pthread_t watching;
    evl_sink memory, sink;
    evl_log log;
    uint8_t *header;
    size_t len;
    int full, error;
    arguments(argc, argv);
    CHECK(pthread_create(&watching, NULL, watch, NULL) == 0);
    OK(evl_sink_memory(1 << 20, EVL_KEEP_OLDEST, &memory));
    log = log_to(memory);
    OK(evl_get_sink(log, &memory));
    OK(evl_chunk_header(memory, &header, &len));
    OK(evl_sink_release(memory));
    OK(evl_drop(log));

    /* What is wrong with the environment is told, and nobody can be told. */
    CHECK(setenv("EVENTLOG_MODE", "tape", 1) == 0);
    error = dup(2);
    full = open("/dev/full", O_WRONLY);
    CHECK(error >= 0 && full >= 0 && dup2(full, 2) == 2);
    sink = asking_sink();
    full = evl_ghc_set_sink(sink, EVL_CLOSE_PREVIOUS, EVL_HEADER, NULL);
    CHECK(dup2(error, 2) == 2);
    GIVES(EVL_OK, full);
    OK(evl_sink_release(sink));
    GIVES(EVL_EMPTY, evl_ghc_log(&log));

    /* While the log begins, which waits for the sink, the sink is told that it would wait for itself. */
    evl_ghc_writer.init();
    CHECK(evl_ghc_writer.write(header, len));
    CHECK(called_ > 0);
    GIVES(EVL_ERR_IN_SINK, codes_[0]);
    GIVES(EVL_ERR_IN_SINK, codes_[1]);
    CHECK(codes_[2] && codes_[3]);
    GIVES(EVL_ERR_IN_SINK, codes_[4]);
    OK(evl_ghc_log(&log));

    /* When it has begun the log is there also for a sink that it goes to. */
    called_ = 0;
    sink = asking_sink();
    OK(evl_ghc_set_sink(sink, EVL_CLOSE_PREVIOUS, EVL_HEADER, NULL));
    OK(evl_sink_release(sink));
    CHECK(called_ > 0);
    GIVES(EVL_OK, codes_[0]);
    GIVES(EVL_EMPTY, codes_[1]);
    CHECK(codes_[2] && codes_[3]);
    GIVES(EVL_ERR_ARGUMENT, codes_[4]);
    OK(evl_stop(log, NULL));
    free(header);
    return 0;
}
