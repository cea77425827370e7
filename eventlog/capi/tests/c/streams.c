/* A stream stays the program's own: it is used beside the log, closed when asked only, and its failures are told. */
/* For fopencookie. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#include <pthread.h>
#include <signal.h>

static void it_stays_open(void) {
    char *path = path_of("stream.eventlog");
    FILE *stream = fopen(path, "w+b");
    evl_sink sink;
    evl_log log;
    char begin[4];
    CHECK(stream != NULL);
    OK(evl_sink_stream(stream, 0, &sink));
    log = log_to(sink);
    OK(evl_message(log, "in the stream", EVL_NUL_ENDED));
    OK(evl_drop(log));
    rewind(stream);
    CHECK(fread(begin, 1, 4, stream) == 4 && memcmp(begin, "hdrb", 4) == 0);
    CHECK(fclose(stream) == 0);
    CHECK(count_in_file("stream.eventlog", "in the stream") == 1);
    free(path);
}

/* What the program writes stands between blocks, never within, whoever writes when. */
static FILE *shared_;
static int over_;

static void *write_blocks(void *count) {
    /* A block by hand: its marker (type 18) says 24 bytes, of no capability. */
    static const uint8_t block[24] = {0, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    while (!__atomic_load_n(&over_, __ATOMIC_RELAXED)) {
        /* Comes in wherever nobody has the lock, however short that is. */
        while (ftrylockfile(shared_) != 0) continue;
        CHECK(fwrite(block, 1, 12, shared_) == 12 && fwrite(block + 12, 1, 12, shared_) == 12);
        funlockfile(shared_);
        ++*(int *)count;
        pause_for(1000);
    }
    return NULL;
}

static void it_is_shared(void) {
    char *path = path_of("both.eventlog");
    evl_sink sink;
    evl_log log;
    pthread_t writing;
    int at, count = 0;
    shared_ = fopen(path, "w+b");
    CHECK(shared_ != NULL);
    /* Without a buffer, so that every write takes time. */
    CHECK(setvbuf(shared_, NULL, _IONBF, 0) == 0);
    OK(evl_sink_stream(shared_, 0, &sink));
    log = log_to(sink);
    CHECK(pthread_create(&writing, NULL, write_blocks, &count) == 0);
    for (at = 0; at < 500; at++) {
        OK(evl_message(log, "by the log", EVL_NUL_ENDED));
        OK(evl_flush(log));
    }
    __atomic_store_n(&over_, 1, __ATOMIC_RELAXED);
    CHECK(pthread_join(writing, NULL) == 0);
    OK(evl_drop(log));
    CHECK(fclose(shared_) == 0);
    CHECK(count > 0);
    CHECK(count_in_file("both.eventlog", "by the log") == 500);
    free(path);
}

static void it_is_closed_when_asked(void) {
    char *path = path_of("owned.eventlog");
    evl_sink sink, after = file_sink("after.eventlog");
    evl_log log;
    FILE *stream = fopen(path, "wb");
    int fd;
    CHECK(stream != NULL);
    fd = fileno(stream);
    OK(evl_sink_stream(stream, EVL_CLOSE, &sink));
    log = log_to(sink);
    OK(evl_set_sink(log, after, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    CHECK(fsync(fd) == -1 && errno == EBADF);
    OK(evl_drop(log));
    OK(evl_sink_release(after));
    free(path);
}

/* A disk that is full: what fits is taken once, what does not is counted. */
static void a_full_disk_is_told(void) {
    FILE *stream = fopen("/dev/full", "wb");
    evl_statistics statistics;
    evl_sink sink, memory;
    evl_log log;
    if (stream == NULL) return;
    OK(evl_sink_stream(stream, EVL_CLOSE, &sink));
    REFUSED(EVL_ERR_SINK, "No space left", evl_create(NULL, sink, &log));
    OK(evl_sink_release(sink));
    /* The same by redirection: the log goes on where it was. */
    log = log_to(null_sink());
    OK(evl_sink_file("/dev/full", &memory));
    REFUSED(EVL_ERR_SINK, "No space left", evl_set_sink(log, memory, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    OK(evl_sink_release(memory));
    OK(evl_message(log, "x", 1));
    OK(evl_flush(log));
    statistics.size = sizeof statistics;
    OK(evl_stop(log, &statistics));
    CHECK(statistics.lost.sink == 0);
    OK(evl_drop(log));
}

/* A pipe whose reader goes away, by a stream, a descriptor, and a thread of the library's: no signal ends the program. */
static void a_broken_pipe_is_an_error(int as_stream) {
    int fds[2];
    FILE *stream;
    evl_sink sink;
    evl_log log;
    evl_statistics statistics;
    CHECK(pipe(fds) == 0);
    if (as_stream) {
        stream = fdopen(fds[1], "wb");
        CHECK(stream != NULL);
        OK(evl_sink_stream(stream, EVL_CLOSE, &sink));
    } else {
        OK(evl_sink_fd(fds[1], EVL_CLOSE, &sink));
    }
    log = log_to(sink);
    close(fds[0]);
    OK(evl_message(log, "for nobody", EVL_NUL_ENDED));
    GIVES(EVL_ERR_SINK, evl_flush(log));
    statistics.size = sizeof statistics;
    GIVES(EVL_ERR_SINK, evl_stop(log, &statistics));
    CHECK(statistics.lost.sink >= 1 && statistics.sink_errors >= 1);
    GIVES(EVL_ERR_SINK, evl_drop(log));
}

static void a_signal_of_the_programs_stays(void) {
    sigset_t pipe_set, before, pending;
    int fds[2], signal_ = 0;
    evl_sink sink;
    evl_log log;
    /* The program's own SIGPIPE waits; the library's does not take it away. */
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    CHECK(pthread_sigmask(SIG_BLOCK, &pipe_set, &before) == 0);
    CHECK(raise(SIGPIPE) == 0);
    CHECK(pipe(fds) == 0);
    OK(evl_sink_fd(fds[1], EVL_CLOSE, &sink));
    log = log_to(sink);
    close(fds[0]);
    OK(evl_message(log, "for nobody", EVL_NUL_ENDED));
    GIVES(EVL_ERR_SINK, evl_drop(log));
    sigpending(&pending);
    CHECK(sigismember(&pending, SIGPIPE) == 1);
    CHECK(sigwait(&pipe_set, &signal_) == 0 && signal_ == SIGPIPE);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

/* The library's threads run none of the program's handlers: a signal that no thread of the program takes waits. */
static volatile sig_atomic_t handled_;

static void handler(int signal_) {
    (void)signal_;
    handled_ = 1;
}

static void handlers_run_on_the_programs_threads(void) {
    struct sigaction action;
    sigset_t set, before, pending;
    evl_log log;
    evl_reader reader;
    evl_listener listener;
    evl_sink sink = null_sink();
    int signal_ = 0;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    log = log_to(null_sink());
    OK(evl_attach(log, sink, NULL, &reader));
    OK(evl_listen_tcp(log, "127.0.0.1:0", 0, NULL, &listener));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, &before) == 0);
    CHECK(sigismember(&before, SIGUSR1) == 0);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    OK(evl_message(log, "x", 1));
    OK(evl_detach(reader, NULL));
    /* Every thread of the log's has run when it has ended. */
    OK(evl_drop(log));
    CHECK(!handled_);
    sigpending(&pending);
    CHECK(sigismember(&pending, SIGUSR1) == 1);
    CHECK(sigwait(&set, &signal_) == 0 && signal_ == SIGUSR1);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    OK(evl_sink_release(sink));
}

/* A stream of the program's own making, which calls the library. */
static uint64_t calls_;
static int refusals_;

static ssize_t call_it(void *unused, const char *bytes, size_t len) {
    evl_statistics statistics;
    evl_sink sink = null_sink();
    evl_log log;
    (void)unused;
    (void)bytes;
    log.id = __atomic_load_n(&calls_, __ATOMIC_RELAXED);
    if (log.id != 0) {
        statistics.size = sizeof statistics;
        GIVES(EVL_ERR_IN_SINK, evl_get_statistics(log, &statistics));
        GIVES(EVL_ERR_IN_SINK, evl_set_sink(log, sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
        GIVES(EVL_ERR_IN_SINK, evl_flush(log));
        refusals_++;
    }
    OK(evl_sink_release(sink));
    return (ssize_t)len;
}

static void a_stream_cannot_wait_for_itself(void) {
    cookie_io_functions_t functions;
    evl_sink sink, other = null_sink();
    evl_log log;
    FILE *stream;
    memset(&functions, 0, sizeof functions);
    functions.write = call_it;
    stream = fopencookie(NULL, "w", functions);
    CHECK(stream != NULL);
    OK(evl_sink_stream(stream, EVL_CLOSE, &sink));
    log = log_to(sink);
    __atomic_store_n(&calls_, log.id, __ATOMIC_RELAXED);
    OK(evl_message(log, "x", 1));
    OK(evl_set_sink(log, other, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    CHECK(refusals_ > 0);
    OK(evl_sink_release(other));
    OK(evl_drop(log));
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    it_stays_open();
    it_is_shared();
    it_is_closed_when_asked();
    a_full_disk_is_told();
    a_broken_pipe_is_an_error(0);
    a_broken_pipe_is_an_error(1);
    a_signal_of_the_programs_stays();
    handlers_run_on_the_programs_threads();
    a_stream_cannot_wait_for_itself();
    return 0;
}
