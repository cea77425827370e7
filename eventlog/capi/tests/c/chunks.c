/* A log in memory comes out in chunks, each a log behind the header, each once, with an end. */
#include "check.h"

#include <pthread.h>

static evl_sink sink_;
static int count_;

/* Writes header, bytes and end as a log of its own. */
static void write_log(const char *kind, int number, const uint8_t *bytes, size_t len) {
    char name[64], *path;
    uint8_t *header;
    size_t header_len;
    FILE *file;
    snprintf(name, sizeof name, "%s-%d.eventlog", kind, number);
    path = path_of(name);
    file = fopen(path, "wb");
    CHECK(file != NULL);
    OK(evl_chunk_header(sink_, &header, &header_len));
    CHECK(fwrite(header, 1, header_len, file) == header_len);
    CHECK(fwrite(bytes, 1, len, file) == len);
    CHECK(fwrite("\xff\xff", 1, 2, file) == 2);
    CHECK(fclose(file) == 0);
    free(header);
    free(path);
}

/* Half of the chunks as copies, half without one. */
static void *consume(void *unused) {
    int is_final = 0, at = 0;
    (void)unused;
    for (;;) {
        evl_chunk chunk;
        const uint8_t *bytes;
        uint8_t *copy;
        size_t len;
        int code = at % 2 == 0 ? evl_chunk_copy(sink_, 10 * SECOND, &copy, &len)
                               : evl_chunk_take(sink_, 10 * SECOND, &chunk);
        if (code == EVL_FINISHED) break;
        if (code == EVL_EMPTY) continue;
        GIVES(EVL_OK, code);
        CHECK(!is_final);
        if (at % 2 == 0) {
            write_log("chunk", at, copy, len);
            count_ += count_in(copy, len, "number ");
            free(copy);
        } else {
            OK(evl_chunk_bytes(chunk, &bytes, &len));
            OK(evl_chunk_is_final(chunk, &is_final));
            write_log("chunk", at, bytes, len);
            count_ += count_in(bytes, len, "number ");
            OK(evl_chunk_release(chunk));
            GIVES(EVL_ERR_STALE, evl_chunk_bytes(chunk, &bytes, &len));
            GIVES(EVL_ERR_STALE, evl_chunk_release(chunk));
        }
        at++;
    }
    return NULL;
}

static void everything_comes_out(void) {
    pthread_t consumer;
    evl_config config;
    evl_capability capability;
    evl_log log;
    char text[200];
    int at;
    OK(evl_config_init(&config, sizeof config));
    config.buffer_bytes = 65571;
    OK(evl_sink_memory(64 << 20, EVL_KEEP_OLDEST, &sink_));
    OK(evl_create(&config, sink_, &log));
    CHECK(pthread_create(&consumer, NULL, consume, NULL) == 0);
    OK(evl_capability_new(log, &capability));
    memset(text, '.', sizeof text);
    for (at = 0; at < rounds_; at++) {
        evl_policy patient = {EVL_WAIT, 0, 60 * SECOND};
        int len = snprintf(text, sizeof text, "number %d", at);
        if (at == 0) OK(evl_set_policy(log, patient));
        text[len] = ' ';
        OK(evl_capability_message(capability, text, sizeof text));
        if (at % 300 == 299) OK(evl_flush(log));
    }
    OK(evl_capability_release(capability));
    OK(evl_drop(log));
    CHECK(pthread_join(consumer, NULL) == 0);
    CHECK(count_ == rounds_);
    OK(evl_sink_release(sink_));
}

/* A chunk stays good when everything else is gone, and its memory counts until it is released. */
static void a_chunk_outlives_its_log(void) {
    evl_log log;
    evl_chunk chunk;
    const uint8_t *bytes;
    size_t len;
    uint64_t chunks, used;
    OK(evl_sink_memory(1 << 20, EVL_KEEP_NEWEST, &sink_));
    OK(evl_create(NULL, sink_, &log));
    OK(evl_message(log, "to be kept", EVL_NUL_ENDED));
    OK(evl_flush(log));
    OK(evl_chunk_take(sink_, 0, &chunk));
    OK(evl_chunk_count(sink_, &chunks, &used));
    CHECK(chunks == 0 && used > 0);
    OK(evl_drop(log));
    OK(evl_chunk_bytes(chunk, &bytes, &len));
    CHECK(count_in(bytes, len, "to be kept") == 1);
    write_log("kept", 0, bytes, len);
    OK(evl_chunk_release(chunk));
    OK(evl_sink_release(sink_));
    GIVES(EVL_ERR_STALE, evl_chunk_take(sink_, 0, &chunk));
}

/* Who waits is woken by the end. */
static void *wait_for_one(void *unused) {
    evl_chunk chunk;
    int code;
    (void)unused;
    while ((code = evl_chunk_take(sink_, UINT64_MAX, &chunk)) == EVL_OK) OK(evl_chunk_release(chunk));
    GIVES(EVL_FINISHED, code);
    return NULL;
}

static void the_end_wakes_who_waits(void) {
    pthread_t waiting;
    evl_log log;
    OK(evl_sink_memory(1 << 20, EVL_KEEP_OLDEST, &sink_));
    OK(evl_create(NULL, sink_, &log));
    CHECK(pthread_create(&waiting, NULL, wait_for_one, NULL) == 0);
    OK(evl_drop(log));
    CHECK(pthread_join(waiting, NULL) == 0);
    OK(evl_sink_release(sink_));
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    everything_comes_out();
    a_chunk_outlives_its_log();
    the_end_wakes_who_waits();
    return 0;
}
