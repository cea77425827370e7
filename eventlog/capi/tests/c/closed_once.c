/* Streams that the log of the run-time system is redirected away from, and that are to be closed with it: each is closed
 * once, and none that has been kept. The program plays the run-time system. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>

static FILE *stream_at(const char *name) {
    char *path = path_of(name);
    FILE *stream = fopen(path, "wb");
    CHECK(stream != NULL);
    free(path);
    return stream;
}

static int is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

/* A sink that waits in its first write. */
static pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
static int has_come_, may_go_;

static void set(int *what) {
    CHECK(pthread_mutex_lock(&lock_) == 0);
    *what = 1;
    CHECK(pthread_cond_broadcast(&changed_) == 0);
    CHECK(pthread_mutex_unlock(&lock_) == 0);
}

static void await(const int *what) {
    CHECK(pthread_mutex_lock(&lock_) == 0);
    while (!*what) CHECK(pthread_cond_wait(&changed_, &lock_) == 0);
    CHECK(pthread_mutex_unlock(&lock_) == 0);
}

static int waits(void *context, const uint8_t *bytes, size_t len) {
    (void)context;
    (void)bytes;
    (void)len;
    set(&has_come_);
    await(&may_go_);
    return 0;
}

static evl_log log_;
static evl_sink waiting_;

static void *redirect(void *unused) {
    OK(evl_set_sink(log_, waiting_, EVL_KEEP_PREVIOUS, EVL_HEADER));
    return unused;
}

static void *close_previous(void *stream) {
    OK(evl_ghc_set_stream((FILE *)stream, EVL_CLOSE_PREVIOUS, EVL_HEADER, NULL));
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t redirecting, closing;
    evl_sink first, owned, kept, memory;
    FILE *stream;
    uint8_t *header;
    size_t len;
    int fd;
    arguments(argc, argv);
    OK(evl_sink_memory(1 << 20, EVL_KEEP_OLDEST, &memory));
    log_ = log_to(memory);
    OK(evl_get_sink(log_, &memory));
    OK(evl_chunk_header(memory, &header, &len));
    OK(evl_sink_release(memory));
    OK(evl_drop(log_));

    /* Before the log begins: the handle of a stream that is closed is good for nothing. */
    stream = stream_at("unused.eventlog");
    fd = fileno(stream);
    OK(evl_sink_stream(stream, 0, &first));
    OK(evl_ghc_set_sink(first, EVL_CLOSE_PREVIOUS, EVL_HEADER, NULL));
    stream = stream_at("closed-0.eventlog");
    CHECK(fileno(stream) != fd);
    OK(evl_ghc_set_stream(stream, EVL_CLOSE_PREVIOUS, EVL_HEADER, NULL));
    CHECK(!is_open(fd));
    GIVES(EVL_ERR_USED, evl_create(NULL, first, &log_));
    OK(evl_sink_release(first));
    evl_ghc_writer.init();
    CHECK(evl_ghc_writer.write(header, len));
    free(header);
    OK(evl_ghc_log(&log_));

    /* A sink that closes its stream itself is not helped, before its handle is released and after. */
    stream = stream_at("closed-1.eventlog");
    fd = fileno(stream);
    OK(evl_sink_stream(stream, EVL_CLOSE, &owned));
    OK(evl_ghc_set_sink(owned, EVL_CLOSE_PREVIOUS, EVL_HEADER, NULL));
    stream = stream_at("closed-2.eventlog");
    OK(evl_ghc_set_stream(stream, EVL_CLOSE_PREVIOUS, EVL_HEADER, NULL));
    CHECK(!is_open(fd));
    GIVES(EVL_ERR_USED, evl_set_sink(log_, owned, EVL_KEEP_PREVIOUS, EVL_CONTINUE));
    OK(evl_sink_release(owned));

    /* While one call takes the log from a stream that it keeps, another is to close what the log is taken from: that is no
     * more the stream. */
    fd = fileno(stream);
    OK(evl_get_sink(log_, &kept));
    OK(evl_sink_callback(waits, NULL, NULL, &waiting_));
    CHECK(pthread_create(&redirecting, NULL, redirect, NULL) == 0);
    await(&has_come_);
    CHECK(pthread_create(&closing, NULL, close_previous, stream_at("closed-3.eventlog")) == 0);
    /* The longer the more likely it is that the other call has begun. */
    pause_for(SECOND / 20);
    set(&may_go_);
    CHECK(pthread_join(redirecting, NULL) == 0);
    CHECK(pthread_join(closing, NULL) == 0);
    CHECK(is_open(fd));
    OK(evl_sink_release(waiting_));
    OK(evl_ghc_set_sink(kept, EVL_CLOSE_PREVIOUS, EVL_CONTINUE, NULL));
    OK(evl_sink_release(kept));
    OK(evl_stop(log_, NULL));
    CHECK(is_open(fd));
    CHECK(fclose(stream) == 0);
    return 0;
}
