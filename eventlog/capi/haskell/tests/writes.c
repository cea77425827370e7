/* What a run-time system does with its writer, without one.
 *
 *   writes replay CAPTURE DIRECTORY    hands the recorded writes over, the first alone and the others by two threads at
 *                                      once, and redirects the log meanwhile
 *   writes cost CAPTURE                hands over full buffers while the sink is as slow as a disk, and prints what a
 *                                      call costs, in microseconds: the median and the 90th percentile, and what it takes
 *                                      to copy as much
 */
#define _POSIX_C_SOURCE 200809L
#include "eventlog.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(what) do { if (!(what)) { \
    fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, evl_last_error()); exit(1); } } while (0)

typedef struct write { uint8_t *bytes; size_t len; } write_t;

static write_t writes[1024];
static size_t count;

static void read_capture(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t len[4];
    CHECK(file != NULL);
    while (fread(len, 1, 4, file) == 4) {
        write_t *write = &writes[count++];
        write->len = (size_t)len[0] << 24 | (size_t)len[1] << 16 | (size_t)len[2] << 8 | len[3];
        write->bytes = malloc(write->len);
        CHECK(write->bytes != NULL && fread(write->bytes, 1, write->len, file) == write->len);
    }
    fclose(file);
}

/* The memory of a run-time system is used again at once. */
static void hand_over(const write_t *write) {
    uint8_t *copy = malloc(write->len);
    CHECK(copy != NULL);
    memcpy(copy, write->bytes, write->len);
    CHECK(evl_ghc_writer.write(copy, write->len));
    memset(copy, 0xee, write->len);
    free(copy);
}

static void *hand_over_half(void *which) {
    for (size_t i = 1 + (which != NULL); i < count; i += 2) {
        hand_over(&writes[i]);
    }
    return NULL;
}

static void replay(const char *directory) {
    pthread_t threads[2];
    char path[4096];
    evl_log log;
    evl_statistics statistics;
    CHECK(evl_ghc_log(&log) == EVL_EMPTY && rts_getEventLogBuffersSize() == 0);
    snprintf(path, sizeof path, "%s/0.eventlog", directory);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    rts_setEventLogSink(file, 0, 1);
    evl_ghc_writer.init();
    hand_over(&writes[0]);
    CHECK(rts_getEventLogSink() == file);
    CHECK(evl_ghc_log(&log) == EVL_OK);
    CHECK(evl_message(log, "own", EVL_NUL_ENDED) == EVL_ERR_RELAYED);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, hand_over_half, i == 0 ? NULL : threads) == 0);
    }
    for (int i = 1; i <= 3; i++) {
        int whole = 1;
        snprintf(path, sizeof path, "%s/%d.eventlog", directory, i);
        FILE *next = fopen(path, "wb");
        CHECK(next != NULL && evl_ghc_set_stream(next, EVL_CLOSE_PREVIOUS, EVL_HEADER, &whole) == EVL_OK);
        CHECK(rts_getEventLogSink() == next);
        /* There is no run-time system that could be asked. */
        CHECK(whole == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(evl_ghc_resize(100, NULL) == EVL_ERR_ARGUMENT);
    CHECK(evl_ghc_resize(100000, NULL) == EVL_OK && rts_getEventLogBuffersSize() == 100000);
    evl_ghc_writer.stop();
    memset(&statistics, 0, sizeof statistics);
    statistics.size = sizeof statistics;
    CHECK(evl_get_statistics(log, &statistics) == EVL_OK);
    CHECK(statistics.lost.full == 0);
    printf("%llu\n", (unsigned long long)statistics.events);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void pause_for(long microseconds) {
    struct timespec time = { 0, microseconds * 1000 };
    nanosleep(&time, NULL);
}

static int take_slowly(void *context, const uint8_t *bytes, size_t len) {
    (void)context;
    (void)bytes;
    if (len > 100000) {
        pause_for(3700);
    }
    return 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void put(uint8_t *at, uint64_t value, int bytes) {
    while (bytes-- > 0) {
        at[bytes] = (uint8_t)value;
        value >>= 8;
    }
}

static void cost(void) {
    enum { LEN = 2 * 1024 * 1024, EVENT = 2 + 8 + 2 + 16, FIRST = 50, TIMES = 250 };
    static double took[TIMES], copied[TIMES];
    evl_sink sink;
    uint8_t *block = calloc(1, LEN);
    size_t len = 24 + (LEN - 24) / EVENT * EVENT;
    uint8_t *copy = calloc(1, LEN);
    CHECK(block != NULL && copy != NULL);
    memset(copy, 1, LEN);
    put(block, 18, 2);
    put(block + 10, len, 4);
    CHECK(evl_sink_callback(take_slowly, NULL, NULL, &sink) == EVL_OK);
    CHECK(evl_ghc_set_sink(sink, EVL_CLOSE_PREVIOUS, EVL_HEADER, NULL) == EVL_OK);
    hand_over(&writes[0]);
    for (int i = 0; i < 2 * (FIRST + TIMES); i++) {
        /* As a run-time system does, for as long as it takes to fill a buffer. */
        double begin = now();
        do {
            for (size_t at = 24; at < len; at += EVENT) {
                put(block + at, 19, 2);
                put(block + at + 10, 16, 2);
                memcpy(block + at + 12, "sixteen letters.", 16);
            }
        } while (now() - begin < 4500);
        bool is_copy = i % 2 != 0;
        begin = now();
        if (is_copy) {
            memcpy(copy, block, len);
        } else {
            evl_ghc_writer.write(block, len);
        }
        double end = now();
        if (i / 2 >= FIRST) {
            (is_copy ? copied : took)[i / 2 - FIRST] = end - begin;
        }
    }
    CHECK(copy[1] == 18);
    qsort(took, TIMES, sizeof *took, compare);
    qsort(copied, TIMES, sizeof *copied, compare);
    printf("%.0f %.0f %.0f\n", took[TIMES / 2], took[TIMES * 9 / 10], copied[TIMES / 2]);
    free(copy);
    free(block);
}

int main(int argc, char **argv) {
    CHECK(argc >= 3);
    read_capture(argv[2]);
    if (strcmp(argv[1], "replay") == 0 && argc == 4) {
        replay(argv[3]);
    } else {
        cost();
    }
    for (size_t i = 0; i < count; i++) {
        free(writes[i].bytes);
    }
    return 0;
}
