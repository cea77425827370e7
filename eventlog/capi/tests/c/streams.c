/* A stream stays the program's own: it is used beside the log, closed when asked only, and its failures are told. */
/* For fopencookie. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

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

/* What the program writes stands between blocks, never within. */
static void it_is_shared(void) {
    /* A block by hand: its marker (type 18) says 24 bytes, of no capability. */
    static const uint8_t block[24] = {0, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    char *path = path_of("both.eventlog");
    FILE *stream = fopen(path, "w+b");
    evl_sink sink;
    evl_log log;
    int at;
    CHECK(stream != NULL);
    OK(evl_sink_stream(stream, 0, &sink));
    log = log_to(sink);
    for (at = 0; at < 50; at++) {
        OK(evl_message(log, "by the log", EVL_NUL_ENDED));
        flockfile(stream);
        CHECK(fwrite(block, 1, 12, stream) == 12 && fwrite(block + 12, 1, 12, stream) == 12);
        funlockfile(stream);
        OK(evl_flush(log));
    }
    OK(evl_drop(log));
    CHECK(fclose(stream) == 0);
    CHECK(count_in_file("both.eventlog", "by the log") == 50);
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

/* The same where the call itself writes: nobody reads from the start, or any more. */
static void a_pipe_that_nobody_reads_is_an_error_of_the_call(void) {
    int fds[2];
    evl_sink sink;
    evl_log log;
    sigset_t pending;
    CHECK(pipe(fds) == 0);
    close(fds[0]);
    OK(evl_sink_fd(fds[1], EVL_CLOSE, &sink));
    GIVES(EVL_ERR_SINK, evl_create(NULL, sink, &log));
    OK(evl_sink_release(sink));

    CHECK(pipe(fds) == 0);
    close(fds[0]);
    OK(evl_sink_fd(fds[1], EVL_CLOSE, &sink));
    log = log_to(null_sink());
    GIVES(EVL_ERR_SINK, evl_set_sink(log, sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    OK(evl_sink_release(sink));
    OK(evl_drop(log));

    CHECK(pipe(fds) == 0);
    OK(evl_sink_fd(fds[1], EVL_CLOSE, &sink));
    log = log_to(sink);
    close(fds[0]);
    sink = null_sink();
    GIVES(EVL_ERR_PREVIOUS_SINK, evl_set_sink(log, sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    OK(evl_sink_release(sink));
    OK(evl_drop(log));
    sigpending(&pending);
    CHECK(sigismember(&pending, SIGPIPE) == 0);
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

/* Nor may they take any other: the collector, the thread at a socket, those of readers that were attached or have
 * connected, and those of queues, of the first sink and of a later one. */
static void no_thread_takes_a_signal(void) {
    struct sockaddr_un address;
    int client;
    evl_sink queued[2], attached = null_sink();
    evl_log log;
    evl_reader reader;
    evl_listener listener;
    char *path = path_of("signals.sock");
    queued[0] = null_sink();
    queued[1] = null_sink();
    OK(evl_sink_queue(queued[0], NULL));
    OK(evl_sink_queue(queued[1], NULL));
    OK(evl_create(NULL, queued[0], &log));
    threads_take_no_signals(2);
    OK(evl_set_sink(log, queued[1], EVL_KEEP_PREVIOUS, EVL_HEADER));
    OK(evl_attach(log, attached, NULL, &reader));
    OK(evl_listen_unix(log, path, NULL, &listener));
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    CHECK(strlen(path) < sizeof address.sun_path);
    strcpy(address.sun_path, path);
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(client >= 0 && connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    threads_take_no_signals(6);
    OK(evl_drop(log));
    close(client);
    OK(evl_sink_release(queued[0]));
    OK(evl_sink_release(queued[1]));
    OK(evl_sink_release(attached));
    free(path);
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

/* A block is written under one lock of the stream: the one that each write of the C library takes is not the only one. */
static FILE *locked_;
static int looks_, is_free_;

static void *try_the_lock(void *unused) {
    (void)unused;
    if (ftrylockfile(locked_) == 0) {
        is_free_++;
        funlockfile(locked_);
    }
    return NULL;
}

static ssize_t look_at_the_lock(void *unused, const char *bytes, size_t len) {
    pthread_t looking;
    (void)unused;
    (void)bytes;
    funlockfile(locked_);
    CHECK(pthread_create(&looking, NULL, try_the_lock, NULL) == 0);
    CHECK(pthread_join(looking, NULL) == 0);
    flockfile(locked_);
    looks_++;
    return (ssize_t)len;
}

static void a_block_is_written_under_one_lock(void) {
    cookie_io_functions_t functions;
    evl_sink sink;
    evl_log log;
    memset(&functions, 0, sizeof functions);
    functions.write = look_at_the_lock;
    locked_ = fopencookie(NULL, "w", functions);
    CHECK(locked_ != NULL);
    OK(evl_sink_stream(locked_, EVL_CLOSE, &sink));
    log = log_to(sink);
    OK(evl_message(log, "x", 1));
    OK(evl_flush(log));
    OK(evl_drop(log));
    CHECK(looks_ >= 3 && is_free_ == 0);
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    it_stays_open();
    it_is_shared();
    it_is_closed_when_asked();
    a_full_disk_is_told();
    a_broken_pipe_is_an_error(0);
    a_broken_pipe_is_an_error(1);
    a_pipe_that_nobody_reads_is_an_error_of_the_call();
    a_signal_of_the_programs_stays();
    handlers_run_on_the_programs_threads();
    no_thread_takes_a_signal();
    a_stream_cannot_wait_for_itself();
    a_block_is_written_under_one_lock();
    return 0;
}
