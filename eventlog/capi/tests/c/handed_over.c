/* What GHC's run-time system does with its writer, without one. The writes that one has made, in capture.writes of the
 * directory, are handed over, the first alone and the others by two threads at once, while the log is redirected. Prints
 * how many events were taken. */
#include "check.h"

#include <pthread.h>

#define WRITES 1024

static struct { const uint8_t *bytes; size_t len; } writes_[WRITES];
static size_t count_;

/* Each write stands behind its length. */
static void find_writes(const uint8_t *capture, size_t len) {
    size_t at = 0;
    while (at < len) {
        CHECK(len - at >= 4 && count_ < WRITES);
        writes_[count_].len = (size_t)capture[at] << 24 | (size_t)capture[at + 1] << 16 | (size_t)capture[at + 2] << 8
            | capture[at + 3];
        at += 4;
        CHECK(len - at >= writes_[count_].len);
        writes_[count_].bytes = capture + at;
        at += writes_[count_++].len;
    }
}

/* The memory of a run-time system is used again at once. */
static void hand_over(size_t which) {
    size_t len = writes_[which].len;
    uint8_t *copy = (uint8_t *)malloc(len);
    CHECK(copy != NULL);
    memcpy(copy, writes_[which].bytes, len);
    CHECK(evl_ghc_writer.write(copy, len));
    memset(copy, 0xee, len);
    free(copy);
}

static void *hand_over_half(void *which) {
    size_t i;
    for (i = 1 + (which != NULL); i < count_; i += 2) hand_over(i);
    return NULL;
}

static FILE *stream_to(const char *name) {
    char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    free(path);
    return file;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    evl_log log;
    evl_statistics statistics;
    size_t len;
    int i;
    FILE *file;
    uint8_t *capture;
    arguments(argc, argv);
    capture = content_of("capture.writes", &len);
    find_writes(capture, len);
    CHECK(count_ > 2);
    GIVES(EVL_EMPTY, evl_ghc_log(&log));
    CHECK(rts_getEventLogBuffersSize() == 0);
    file = stream_to("0.eventlog");
    rts_setEventLogSink(file, 0, 1);
    evl_ghc_writer.init();
    hand_over(0);
    CHECK(rts_getEventLogSink() == file);
    OK(evl_ghc_log(&log));
    GIVES(EVL_ERR_RELAYED, evl_message(log, "own", EVL_NUL_ENDED));
    for (i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, hand_over_half, i == 0 ? NULL : threads) == 0);
    for (i = 1; i <= 3; i++) {
        char name[32];
        int whole = 1;
        snprintf(name, sizeof name, "%d.eventlog", i);
        OK(evl_ghc_set_stream(stream_to(name), EVL_CLOSE_PREVIOUS, EVL_HEADER, &whole));
        /* There is no run-time system that could be asked. */
        CHECK(whole == 0);
    }
    for (i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    threads_take_no_signals(1);
    REFUSED(EVL_ERR_ARGUMENT, "65571", evl_ghc_resize(100, NULL));
    OK(evl_ghc_resize(100000, NULL));
    CHECK(rts_getEventLogBuffersSize() == 100000);
    evl_ghc_writer.stop();
    statistics = statistics_of(log);
    CHECK(statistics.lost.full == 0);
    printf("%llu\n", (unsigned long long)statistics.events);
    free(capture);
    /* The log ends with the program. */
    return 0;
}
