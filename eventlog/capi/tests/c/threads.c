/* Threads do everything at once, also what they should not: each call has an outcome, and the counts are exact. */
#include "check.h"

#include <pthread.h>

#define EVENTS 2000

static evl_log log_;
static evl_capability shared_;
static pthread_barrier_t start_;

struct part {
    int number;
    long taken;
    long busy;
};

/* One capability for all: each message is in the log, or the capability was busy. */
static void *share(void *argument) {
    struct part *part = (struct part *)argument;
    int at;
    pthread_barrier_wait(&start_);
    for (at = 0; at < EVENTS; at++) {
        int code = evl_capability_message(shared_, "shared", EVL_NUL_ENDED);
        CHECK(code == EVL_OK || code == EVL_ERR_BUSY);
        if (code == EVL_OK) part->taken++;
        else part->busy++;
        OK(evl_message(log_, "by all", EVL_NUL_ENDED));
    }
    return NULL;
}

static void sharing(void) {
    pthread_t threads[2];
    struct part parts[2];
    evl_policy patient = {EVL_WAIT, 0, 60 * SECOND};
    evl_statistics statistics;
    evl_buffer_statistics buffer;
    int at;

    log_ = log_to(file_sink("threads.eventlog"));
    OK(evl_set_policy(log_, patient));
    OK(evl_capability_new(log_, &shared_));
    CHECK(pthread_barrier_init(&start_, NULL, 2) == 0);
    memset(parts, 0, sizeof parts);
    for (at = 0; at < 2; at++) CHECK(pthread_create(&threads[at], NULL, share, &parts[at]) == 0);
    for (at = 0; at < 2; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    OK(evl_flush(log_));
    CHECK(parts[0].taken + parts[1].taken > 0);
    buffer.size = sizeof buffer;
    OK(evl_get_buffer_statistics(log_, 0, &buffer));
    CHECK(buffer.events == (uint64_t)(parts[0].taken + parts[1].taken));
    OK(evl_capability_release(shared_));
    statistics.size = sizeof statistics;
    OK(evl_stop(log_, &statistics));
    CHECK(statistics.lost.full == 0);
    OK(evl_drop(log_));
    CHECK(count_in_file("threads.eventlog", "shared") == parts[0].taken + parts[1].taken);
    CHECK(count_in_file("threads.eventlog", "by all") == 2 * EVENTS);
    pthread_barrier_destroy(&start_);
}

/* Everything that can be done to a log, while another thread ends it. */
static void *use(void *argument) {
    int *successes = (int *)argument;
    evl_log log = log_;
    evl_capability capability;
    int code;
    pthread_barrier_wait(&start_);
    do {
        evl_sink sink;
        evl_reader reader;
        evl_statistics statistics;
        statistics.size = sizeof statistics;
        code = evl_capability_new(log, &capability);
        if (code == EVL_OK) {
            int emitted = evl_capability_message(capability, "x", 1);
            CHECK(emitted == EVL_OK || emitted == EVL_ERR_STOPPED);
            OK(evl_capability_release(capability));
            ++*successes;
        }
        CHECK(code == EVL_OK || code == EVL_ERR_STOPPED || code == EVL_ERR_STALE);
        sink = null_sink();
        code = evl_attach(log, sink, NULL, &reader);
        CHECK(code == EVL_OK || code == EVL_ERR_STOPPED || code == EVL_ERR_STALE);
        OK(evl_sink_release(sink));
        if (code == EVL_OK) {
            code = evl_detach(reader, NULL);
            CHECK(code == EVL_OK || code == EVL_ERR_DETACHED || code == EVL_ERR_STALE);
        }
        code = evl_resize(log, 70000);
        CHECK(code == EVL_OK || code == EVL_ERR_STALE);
        code = evl_flush(log);
        CHECK(code == EVL_OK || code == EVL_ERR_STALE);
        code = evl_get_statistics(log, &statistics);
        CHECK(code == EVL_OK || code == EVL_ERR_STALE);
        code = evl_get_sink(log, &sink);
        CHECK(code == EVL_OK || code == EVL_ERR_STALE);
        if (code == EVL_OK) OK(evl_sink_release(sink));
    } while (code == EVL_OK);
    /* The text is this thread's own. */
    CHECK(strstr(evl_last_error(), "given back") != NULL);
    return NULL;
}

static void ending(void) {
    pthread_t threads[2];
    int successes[2] = {0, 0}, at;
    log_ = log_to(null_sink());
    CHECK(pthread_barrier_init(&start_, NULL, 3) == 0);
    for (at = 0; at < 2; at++) CHECK(pthread_create(&threads[at], NULL, use, &successes[at]) == 0);
    pthread_barrier_wait(&start_);
    OK(evl_message(log_, "x", 1));
    OK(evl_drop(log_));
    for (at = 0; at < 2; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    pthread_barrier_destroy(&start_);
}

/* The same handle is given back by two threads: once. */
static evl_sink to_release_;

static void *release(void *argument) {
    int code;
    pthread_barrier_wait(&start_);
    code = evl_sink_release(to_release_);
    CHECK(code == EVL_OK || code == EVL_ERR_STALE);
    *(int *)argument = code;
    return NULL;
}

static void releasing(void) {
    pthread_t threads[2];
    int codes[2], at;
    to_release_ = null_sink();
    CHECK(pthread_barrier_init(&start_, NULL, 2) == 0);
    for (at = 0; at < 2; at++) CHECK(pthread_create(&threads[at], NULL, release, &codes[at]) == 0);
    for (at = 0; at < 2; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    CHECK((codes[0] == EVL_OK) != (codes[1] == EVL_OK));
    pthread_barrier_destroy(&start_);
}

int main(int argc, char **argv) {
    int round;
    arguments(argc, argv);
    sharing();
    for (round = 0; round < rounds_; round++) {
        ending();
        releasing();
    }
    return 0;
}
