/* What handing a full buffer over costs the thread that does it, while the sink is as slow as a disk: cost CAPTURE. The
 * first write of the capture is the header. Prints microseconds: the first decile, the median and the ninth decile of the
 * calls, and the first decile and the median of as many plain copies, in turn. */
#define _POSIX_C_SOURCE 200809L
#include "eventlog.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(what) do { if (!(what)) { \
    fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, evl_last_error()); exit(1); } } while (0)

static void hand_over_header(const char *capture) {
    FILE *file = fopen(capture, "rb");
    uint8_t bytes[65536];
    CHECK(file != NULL && fread(bytes, 1, 4, file) == 4);
    size_t len = (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
    CHECK(len <= sizeof bytes && fread(bytes, 1, len, file) == len);
    fclose(file);
    CHECK(evl_ghc_writer.write(bytes, len));
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

int main(int argc, char **argv) {
    CHECK(argc == 2);
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
    hand_over_header(argv[1]);
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
    printf("%.0f %.0f %.0f %.0f %.0f\n", took[TIMES / 10], took[TIMES / 2], took[TIMES * 9 / 10], copied[TIMES / 10],
        copied[TIMES / 2]);
    free(copy);
    free(block);
    return 0;
}
