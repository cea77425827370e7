/* What every program here checks by. A program gets a directory for its logs, and a number of rounds. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "eventlog.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Ends the program where something is not so. */
#define CHECK(what)                                                                                                       \
    do {                                                                                                                  \
        if (!(what)) {                                                                                                    \
            fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #what, evl_last_error());         \
            exit(1);                                                                                                      \
        }                                                                                                                 \
    } while (0)

/* Ends the program where a call returns another code. */
#define GIVES(expected, call)                                                                                             \
    do {                                                                                                                  \
        int code_ = (call);                                                                                               \
        if (code_ != (expected)) {                                                                                        \
            fprintf(stderr, "%s:%d: %d (%s, %s) and not %s of %s\n", __FILE__, __LINE__, code_, evl_error_text(code_),    \
                    evl_last_error(), #expected, #call);                                                                  \
            exit(1);                                                                                                      \
        }                                                                                                                 \
    } while (0)

#define OK(call) GIVES(EVL_OK, call)

/* The call is refused, and the text says so. */
#define REFUSED(expected, text, call)                                                                                     \
    do {                                                                                                                  \
        GIVES(expected, call);                                                                                            \
        if (strstr(evl_last_error(), text) == NULL) {                                                                     \
            fprintf(stderr, "%s:%d: \"%s\" does not say \"%s\"\n", __FILE__, __LINE__, evl_last_error(), text);           \
            exit(1);                                                                                                      \
        }                                                                                                                 \
    } while (0)

#define SECOND UINT64_C(1000000000)

static const char *directory_ = ".";
static int rounds_ = 1;

static inline void arguments(int argc, char **argv) {
    if (argc > 1) directory_ = argv[1];
    if (argc > 2) rounds_ = atoi(argv[2]);
}

/* Lets others go on for a while. */
static inline void pause_for(long nanoseconds) {
    struct timespec time = {0, 0};
    time.tv_nsec = nanoseconds;
    nanosleep(&time, NULL);
}

/* The path of a file of the program's own. It must be freed. */
static inline char *path_of(const char *name) {
    size_t len = strlen(directory_) + strlen(name) + 2;
    char *path = (char *)malloc(len);
    CHECK(path != NULL);
    snprintf(path, len, "%s/%s", directory_, name);
    return path;
}

static inline evl_sink file_sink(const char *name) {
    evl_sink sink;
    char *path = path_of(name);
    OK(evl_sink_file(path, &sink));
    free(path);
    return sink;
}

static inline evl_sink null_sink(void) {
    evl_sink sink;
    OK(evl_sink_null(&sink));
    return sink;
}

/* A log that is written to that sink, whose handle is given back. */
static inline evl_log log_to(evl_sink sink) {
    evl_log log;
    OK(evl_create(NULL, sink, &log));
    OK(evl_sink_release(sink));
    return log;
}

static inline evl_statistics statistics_of(evl_log log) {
    evl_statistics statistics;
    statistics.size = sizeof statistics;
    OK(evl_get_statistics(log, &statistics));
    return statistics;
}

#define SIGNAL_BIT(number) (1ULL << ((number) - 1))

/* The library has that many threads at least, and each of them takes no signal that is sent to the process: none of the
 * program's handlers runs there. Those of a thread's own faults are left out: under valgrind they come through. Waits until
 * the threads have begun. */
static inline void threads_take_no_signals(int least) {
    const unsigned long long faults = SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) |
                                      SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGSYS);
    const unsigned long long refusable =
        0x7fffffffULL & ~(SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP) | faults);
    int found = 0, tries;
    for (tries = 0; found < least; tries++) {
        DIR *threads = opendir("/proc/self/task");
        struct dirent *entry;
        CHECK(threads != NULL && tries < 30000);
        found = 0;
        while ((entry = readdir(threads)) != NULL) {
            char path[300], line[256];
            unsigned long long blocked = 0;
            int is_ours = 0;
            FILE *status;
            snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
            status = fopen(path, "r");
            /* Neither . and .. nor a thread that has ended. */
            if (status == NULL) continue;
            while (fgets(line, sizeof line, status) != NULL) {
                if (strncmp(line, "Name:\teventlog", 14) == 0) is_ours = 1;
                if (strncmp(line, "SigBlk:", 7) == 0) blocked = strtoull(line + 7, NULL, 16);
            }
            fclose(status);
            if (!is_ours) continue;
            if ((blocked & refusable) != refusable) fprintf(stderr, "thread %s: %llx\n", entry->d_name, blocked);
            CHECK((blocked & refusable) == refusable);
            found++;
        }
        closedir(threads);
        if (found < least) pause_for(1000000);
    }
}

/* The bytes of a file. They must be freed. */
static inline uint8_t *content_of(const char *name, size_t *len) {
    char *path = path_of(name);
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;
    long size;
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    size = ftell(file);
    CHECK(size >= 0);
    rewind(file);
    bytes = (uint8_t *)malloc((size_t)size + 1);
    CHECK(bytes != NULL);
    CHECK(fread(bytes, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    free(path);
    *len = (size_t)size;
    return bytes;
}

/* How often a text is there. */
static inline int count_in(const uint8_t *bytes, size_t len, const char *text) {
    size_t text_len = strlen(text), at;
    int count = 0;
    for (at = 0; at + text_len <= len; at++) count += memcmp(bytes + at, text, text_len) == 0;
    return count;
}

static inline int count_in_file(const char *name, const char *text) {
    size_t len;
    uint8_t *bytes = content_of(name, &len);
    int count = count_in(bytes, len, text);
    free(bytes);
    return count;
}

#endif
