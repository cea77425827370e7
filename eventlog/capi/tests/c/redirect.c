/* A log is redirected under load, through sinks of every kind. Whoever reads the files finds every event once. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>

#define THREADS 4

static evl_log log_;
static int events_;

static void *emit(void *argument) {
    int thread = *(int *)argument, at;
    evl_capability capability;
    OK(evl_capability_new(log_, &capability));
    for (at = 0; at < events_; at++) {
        char text[32];
        int len = snprintf(text, sizeof text, "%d %d", thread, at);
        if (at % 8 == 0) OK(evl_message(log_, text, (size_t)len));
        else OK(evl_capability_message(capability, text, (size_t)len));
        if (at % 64 == 0) pause_for(100000);
    }
    OK(evl_capability_release(capability));
    return NULL;
}

static int take(void *context, const uint8_t *bytes, size_t len) {
    return fwrite(bytes, 1, len, (FILE *)context) == len ? 0 : EIO;
}

static void close_it(void *context) { fclose((FILE *)context); }

/* The sink of that number. */
static evl_sink sink_of(int number) {
    char name[32], *path;
    evl_sink sink;
    FILE *stream;
    int fd;
    snprintf(name, sizeof name, "redirect-%d.eventlog", number);
    path = path_of(name);
    switch (number % 4) {
    case 0: OK(evl_sink_file(path, &sink)); break;
    case 1:
        stream = fopen(path, "wb");
        CHECK(stream != NULL);
        OK(evl_sink_stream(stream, EVL_CLOSE, &sink));
        break;
    case 2:
        fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
        CHECK(fd >= 0);
        OK(evl_sink_fd(fd, 0, &sink));
        close(fd);
        break;
    default:
        stream = fopen(path, "wb");
        CHECK(stream != NULL);
        OK(evl_sink_callback(take, close_it, stream, &sink));
        break;
    }
    free(path);
    return sink;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    int numbers[THREADS], at, files;
    evl_policy patient = {EVL_WAIT, 0, 60 * SECOND};
    evl_statistics statistics;

    arguments(argc, argv);
    events_ = 400 * rounds_;
    files = 8 * rounds_ / 5;
    log_ = log_to(sink_of(0));
    OK(evl_set_policy(log_, patient));
    for (at = 0; at < THREADS; at++) {
        numbers[at] = at;
        CHECK(pthread_create(&threads[at], NULL, emit, &numbers[at]) == 0);
    }
    for (at = 1; at < files; at++) {
        evl_sink sink = sink_of(at);
        OK(evl_set_sink(log_, sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
        OK(evl_sink_release(sink));
        OK(evl_resize(log_, at % 2 == 0 ? 66000 : 400000));
        pause_for(500000);
    }
    for (at = 0; at < THREADS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    statistics.size = sizeof statistics;
    OK(evl_stop(log_, &statistics));
    CHECK(statistics.lost.full == 0 && statistics.lost.sink == 0 && statistics.sink_errors == 0);
    CHECK(statistics.events >= (uint64_t)(THREADS * events_));
    OK(evl_drop(log_));
    return 0;
}
