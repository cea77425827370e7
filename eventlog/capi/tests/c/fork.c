/* A child of a program that logs: it finds nothing of its parent's, waits for nobody, and starts a log of its own. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <sys/wait.h>

static evl_log log_;
static evl_capability capability_;
static evl_sink sink_, memory_;
static volatile int over_;

static void refused_in_a_child(void) {
    evl_sink sink = sink_, made;
    evl_log log;
    evl_capability capability;
    evl_chunk chunk;
    evl_statistics statistics;
    statistics.size = sizeof statistics;
    REFUSED(EVL_ERR_FORKED, "forked", evl_message(log_, "x", 1));
    GIVES(EVL_ERR_FORKED, evl_capability_message(capability_, "x", 1));
    GIVES(EVL_ERR_FORKED, evl_capability_release(capability_));
    GIVES(EVL_ERR_FORKED, evl_capability_new(log_, &capability));
    GIVES(EVL_ERR_FORKED, evl_flush(log_));
    GIVES(EVL_ERR_FORKED, evl_get_statistics(log_, &statistics));
    GIVES(EVL_ERR_FORKED, evl_set_sink(log_, sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    GIVES(EVL_ERR_FORKED, evl_create(NULL, sink_, &log));
    GIVES(EVL_ERR_FORKED, evl_sink_close(sink_));
    GIVES(EVL_ERR_FORKED, evl_chunk_take(memory_, UINT64_MAX, &chunk));
    GIVES(EVL_ERR_FORKED, evl_stop(log_, NULL));
    GIVES(EVL_ERR_FORKED, evl_drop(log_));
    GIVES(EVL_ERR_FORKED, evl_sink_release(sink_));

    made = file_sink("child.eventlog");
    log = log_to(made);
    OK(evl_capability_new(log, &capability));
    OK(evl_capability_message(capability, "of the child", EVL_NUL_ENDED));
    OK(evl_capability_release(capability));
    OK(evl_drop(log));
    CHECK(count_in_file("child.eventlog", "of the child") == 1);
}

/* Emits, with a number each, while the program forks. */
static void *emit(void *unused) {
    int at = 0;
    (void)unused;
    while (!__atomic_load_n(&over_, __ATOMIC_RELAXED)) {
        char text[32];
        int len = snprintf(text, sizeof text, "%d", at++);
        OK(evl_message(log_, text, (size_t)len));
        if (at % 16 == 0) OK(evl_flush(log_));
    }
    return NULL;
}

static void fork_once(void) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        refused_in_a_child();
        /* With all that a process does at its end: streams are written out. */
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int pipe_[2];

static void *flush_it(void *unused) {
    (void)unused;
    OK(evl_flush(log_));
    return NULL;
}

static void *drain_it(void *unused) {
    char bytes[4096];
    (void)unused;
    /* Not before the fork has begun, if this machine is not too busy. */
    pause_for(300000000);
    while (read(pipe_[0], bytes, sizeof bytes) > 0) continue;
    return NULL;
}

/* A fork while a block is on its way: the child has none of it in the stream's buffer, to be written once more. */
static void a_fork_waits_for_a_block(void) {
    pthread_t flushing, draining;
    FILE *stream;
    char byte = 0;
    int status;
    pid_t child;
    CHECK(pipe(pipe_) == 0);
    stream = fdopen(pipe_[1], "wb");
    CHECK(stream != NULL);
    OK(evl_sink_stream(stream, EVL_CLOSE, &sink_));
    log_ = log_to(sink_);
    OK(evl_flush(log_));
    /* Full, so that the next block is stuck. */
    CHECK(fcntl(pipe_[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(pipe_[1], &byte, 1) == 1) continue;
    CHECK(errno == EAGAIN && fcntl(pipe_[1], F_SETFL, 0) == 0);
    OK(evl_message(log_, "on its way", EVL_NUL_ENDED));
    CHECK(pthread_create(&flushing, NULL, flush_it, NULL) == 0);
    while (__fpending(stream) == 0) pause_for(1000000);
    CHECK(pthread_create(&draining, NULL, drain_it, NULL) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(__fpending(stream) == 0 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(pthread_join(flushing, NULL) == 0);
    OK(evl_drop(log_));
    CHECK(pthread_join(draining, NULL) == 0);
    close(pipe_[0]);
}

int main(int argc, char **argv) {
    char *path;
    FILE *stream;
    pthread_t emitting;
    evl_policy patient = {EVL_WAIT, 0, 60 * SECOND};
    int round;

    arguments(argc, argv);
    path = path_of("parent.eventlog");
    stream = fopen(path, "wb");
    CHECK(stream != NULL);
    OK(evl_sink_stream(stream, EVL_CLOSE, &sink_));
    OK(evl_sink_memory(1 << 20, EVL_KEEP_OLDEST, &memory_));
    OK(evl_create(NULL, sink_, &log_));
    OK(evl_set_policy(log_, patient));
    OK(evl_capability_new(log_, &capability_));
    CHECK(pthread_create(&emitting, NULL, emit, NULL) == 0);
    for (round = 0; round < rounds_; round++) fork_once();
    __atomic_store_n(&over_, 1, __ATOMIC_RELAXED);
    CHECK(pthread_join(emitting, NULL) == 0);
    OK(evl_capability_release(capability_));
    OK(evl_drop(log_));
    OK(evl_sink_release(sink_));
    OK(evl_sink_release(memory_));
    free(path);
    a_fork_waits_for_a_block();
    return 0;
}
