/* Every function of the library does what it is there for, once. */
#include "check.h"

#include <sys/socket.h>
#include <sys/un.h>

static void texts(void) {
    CHECK(strcmp(evl_error_text(EVL_OK), "no error") == 0);
    CHECK(strcmp(evl_error_text(EVL_ERR_FULL), "the event buffer is full") == 0);
    CHECK(strstr(evl_error_text(12345), "no code") != NULL);
    CHECK(strcmp(evl_last_error(), "") == 0);
}

static void life(void) {
    evl_config config;
    evl_policy policy = {EVL_WAIT, 0, 50000000}, found;
    const char *program[] = {"every_function", "--fast"};
    evl_statistics statistics;
    evl_buffer_statistics buffer;
    evl_capability capability;
    evl_log log;
    evl_sink sink = file_sink("life.eventlog");
    uint16_t number = 7;
    uint64_t bytes = 0, earlier = 0, later = 0;

    OK(evl_config_init(&config, sizeof config));
    CHECK(config.size == sizeof config && config.buffer_bytes == 512 * 1024);
    config.buffer_bytes = 256 * 1024;
    config.flush_interval_ns = 5000000;
    config.policy = policy;
    config.arguments = program;
    config.arguments_len = 2;
    OK(evl_create(&config, sink, &log));
    OK(evl_sink_release(sink));

    OK(evl_buffers_size(log, &bytes));
    CHECK(bytes == 256 * 1024);
    OK(evl_resize(log, 1024 * 1024));
    OK(evl_buffers_size(log, &bytes));
    CHECK(bytes == 1024 * 1024);
    OK(evl_get_policy(log, &found));
    CHECK(found.kind == EVL_WAIT && found.value == policy.value);
    policy.kind = EVL_GROW;
    policy.value = 4 * 1024 * 1024;
    OK(evl_set_policy(log, policy));
    OK(evl_get_policy(log, &found));
    CHECK(found.kind == EVL_GROW && found.value == policy.value);
    OK(evl_now(log, &earlier));
    OK(evl_now(log, &later));
    CHECK(later >= earlier);

    OK(evl_capability_new(log, &capability));
    OK(evl_capability_number(capability, &number));
    CHECK(number == 0);
    OK(evl_capability_message(capability, "apple", EVL_NUL_ENDED));
    OK(evl_capability_marker(capability, "a marker", 8));
    OK(evl_capability_emit(capability, 9, NULL, 0));  /* the start of a collection */
    OK(evl_capability_emit(capability, 10, NULL, 0)); /* its end */
    OK(evl_message(log, "shared", EVL_NUL_ENDED));
    OK(evl_marker(log, "shared marker", EVL_NUL_ENDED));
    OK(evl_emit(log, 19, (const uint8_t *)"as a payload", 12));
    OK(evl_flush(log));
    CHECK(count_in_file("life.eventlog", "apple") == 1);
    CHECK(count_in_file("life.eventlog", "as a payload") == 1);

    statistics = statistics_of(log);
    CHECK(statistics.capabilities == 1 && statistics.lost.full == 0 && statistics.bytes_written > 0);
    buffer.size = sizeof buffer;
    OK(evl_get_buffer_statistics(log, 0, &buffer));
    CHECK(buffer.events == 4 && buffer.lost.full == 0 && buffer.buffer_bytes == 1024 * 1024);
    OK(evl_get_buffer_statistics(log, EVL_SHARED, &buffer));
    CHECK(buffer.events >= 3);

    OK(evl_capability_release(capability));
    OK(evl_stop(log, &statistics));
    CHECK(statistics.size == sizeof statistics && statistics.events >= 7);
    OK(evl_drop(log));
    CHECK(count_in_file("life.eventlog", "--fast") == 1);
}

static void own_types(void) {
    evl_field fields[] = {
        {"byte", EVL_U8, 0},   {"short", EVL_U16, 0},   {"word", EVL_U32, 0}, {"long", EVL_U64, 0},
        {"signed", EVL_I64, 0}, {"float", EVL_F64, 0}, {"text", EVL_STR, 0}, {"data", EVL_BYTES, 0},
    };
    evl_value values[8];
    evl_type type, many;
    evl_type types[2];
    evl_field all[20];
    evl_value ones[20];
    char names[20][16];
    evl_config config;
    evl_log log;
    evl_capability capability;
    evl_sink sink = file_sink("own_types.eventlog");
    uint16_t id = 0;
    int at;

    OK(evl_type_new(3, "all-of-them", fields, 8, &type));
    OK(evl_type_id(type, &id));
    CHECK(id == 1088 + 3);
    for (at = 0; at < 20; at++) {
        snprintf(names[at], sizeof names[at], "f%d", at);
        all[at].name = names[at];
        all[at].type = EVL_U64;
        all[at].reserved = 0;
        memset(&ones[at], 0, sizeof ones[at]);
        ones[at].type = EVL_U64;
        ones[at].as.u = (uint64_t)at;
    }
    OK(evl_type_new(4, "many", all, 20, &many));
    types[0] = type;
    types[1] = many;
    OK(evl_config_init(&config, sizeof config));
    config.types = types;
    config.types_len = 2;
    OK(evl_create(&config, sink, &log));
    OK(evl_sink_release(sink));

    memset(values, 0, sizeof values);
    for (at = 0; at < 8; at++) values[at].type = fields[at].type;
    values[0].as.u = 255;
    values[1].as.u = 65535;
    values[2].as.u = 4294967295u;
    values[3].as.u = UINT64_MAX;
    values[4].as.i = -5;
    values[5].as.f = 0.5;
    values[6].as.bytes.data = (const uint8_t *)"largest";
    values[6].as.bytes.len = 7;
    values[7].as.bytes.data = NULL;
    values[7].as.bytes.len = 0;
    OK(evl_emit_values(log, type, values, 8));
    OK(evl_capability_new(log, &capability));
    OK(evl_capability_emit_values(capability, type, values, 8));
    OK(evl_capability_emit_values(capability, many, ones, 20));
    {
        /* The same by its bytes. */
        uint8_t payload[160];
        memset(payload, 0, sizeof payload);
        OK(evl_capability_emit(capability, 1088 + 4, payload, sizeof payload));
    }
    OK(evl_capability_release(capability));
    OK(evl_type_release(type));
    OK(evl_type_release(many));
    OK(evl_drop(log));
    CHECK(count_in_file("own_types.eventlog", "largest") == 2);
    CHECK(count_in_file("own_types.eventlog", "all-of-them") == 1);
}

static int take(void *context, const uint8_t *bytes, size_t len) {
    FILE *file = (FILE *)context;
    return fwrite(bytes, 1, len, file) == len ? 0 : EIO;
}

static void close_it(void *context) { fclose((FILE *)context); }

static void redirection(void) {
    evl_sink first = file_sink("first.eventlog"), second, third, current;
    evl_sticky sticky, of_capability;
    evl_capability capability;
    evl_log log;
    char *path = path_of("second.eventlog"), *third_path = path_of("third.eventlog");
    FILE *stream = fopen(path, "wb"), *other = fopen(third_path, "wb"), *found = NULL;
    CHECK(stream != NULL && other != NULL);

    OK(evl_create(NULL, first, &log));
    OK(evl_capability_new(log, &capability));
    OK(evl_emit_sticky(log, 19, (const uint8_t *)"told again", 10, &sticky));
    OK(evl_capability_emit_sticky(capability, 19, (const uint8_t *)"and this", 8, &of_capability));
    OK(evl_message(log, "to the first", EVL_NUL_ENDED));

    OK(evl_sink_stream(stream, 0, &second));
    OK(evl_sink_get_stream(second, &found));
    CHECK(found == stream);
    OK(evl_set_sink(log, second, EVL_KEEP_PREVIOUS, EVL_HEADER));
    OK(evl_message(log, "to the second", EVL_NUL_ENDED));
    OK(evl_sticky_remove(of_capability));

    OK(evl_sink_callback(take, close_it, other, &third));
    OK(evl_set_sink(log, third, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    OK(evl_sink_release(third));
    OK(evl_message(log, "to the third", EVL_NUL_ENDED));
    /* The stream is ours again, and open. */
    CHECK(fflush(stream) == 0 && fclose(stream) == 0);

    OK(evl_get_sink(log, &current));
    OK(evl_set_sink(log, first, EVL_KEEP_PREVIOUS, EVL_CONTINUE));
    OK(evl_message(log, "to the first again", EVL_NUL_ENDED));
    OK(evl_sink_close(current));
    OK(evl_sink_release(current));
    OK(evl_sticky_remove(sticky));
    OK(evl_capability_release(capability));
    OK(evl_drop(log));
    OK(evl_sink_release(first));
    OK(evl_sink_release(second));

    CHECK(count_in_file("first.eventlog", "to the first") == 2);
    CHECK(count_in_file("first.eventlog", "to the second") == 0);
    CHECK(count_in_file("second.eventlog", "to the second") == 1);
    CHECK(count_in_file("second.eventlog", "told again") == 1);
    CHECK(count_in_file("second.eventlog", "and this") == 1);
    CHECK(count_in_file("third.eventlog", "to the third") == 1);
    CHECK(count_in_file("third.eventlog", "told again") == 1);
    CHECK(count_in_file("third.eventlog", "and this") == 0);
    free(path);
    free(third_path);
}

static void memory(void) {
    evl_sink sink;
    evl_log log;
    evl_chunk chunk;
    uint8_t *header, *copy;
    const uint8_t *bytes;
    size_t header_len, len;
    uint64_t chunks = 9, used = 0;
    int is_final = 7;

    OK(evl_sink_memory(1 << 20, EVL_KEEP_OLDEST, &sink));
    OK(evl_create(NULL, sink, &log));
    OK(evl_flush(log));
    OK(evl_chunk_copy(sink, 0, &copy, &len));
    CHECK(len > 24);
    free(copy);
    GIVES(EVL_EMPTY, evl_chunk_copy(sink, 0, &copy, &len));
    GIVES(EVL_EMPTY, evl_chunk_take(sink, 1000, &chunk));
    OK(evl_message(log, "in memory", EVL_NUL_ENDED));
    OK(evl_flush(log));
    OK(evl_chunk_count(sink, &chunks, &used));
    CHECK(chunks == 1 && used > 0);
    OK(evl_chunk_take(sink, SECOND, &chunk));
    OK(evl_drop(log));
    OK(evl_chunk_bytes(chunk, &bytes, &len));
    CHECK(count_in(bytes, len, "in memory") == 1);
    OK(evl_chunk_is_final(chunk, &is_final));
    CHECK(is_final == 0 || is_final == 1);
    OK(evl_chunk_header(sink, &header, &header_len));
    CHECK(memcmp(header, "hdrb", 4) == 0);
    free(header);
    do {
        OK(evl_chunk_release(chunk));
    } while (evl_chunk_take(sink, UINT64_MAX, &chunk) == EVL_OK);
    GIVES(EVL_FINISHED, evl_chunk_take(sink, UINT64_MAX, &chunk));
    OK(evl_sink_release(sink));
}

static void recorder(void) {
    evl_sink sink, snapshot = file_sink("snapshot.eventlog");
    evl_log log;
    uint64_t bytes = 0;
    size_t len;
    uint8_t *content;

    OK(evl_sink_recorder(1 << 20, 60 * SECOND, &sink));
    log = log_to(sink);
    OK(evl_message(log, "it is getting hot", EVL_NUL_ENDED));
    OK(evl_snapshot(log, snapshot, &bytes));
    OK(evl_sink_release(snapshot));
    content = content_of("snapshot.eventlog", &len);
    CHECK(len == bytes && count_in(content, len, "it is getting hot") == 1);
    free(content);
    snapshot = file_sink("snapshot-2.eventlog");
    OK(evl_snapshot(log, snapshot, NULL));
    OK(evl_sink_release(snapshot));
    OK(evl_drop(log));
}

/* Connects, and reads to the end. */
static void read_all(int fd, const char *text) {
    char buffer[65536];
    size_t len = 0;
    ssize_t count;
    while (len < sizeof buffer && (count = read(fd, buffer + len, sizeof buffer - len)) > 0) len += (size_t)count;
    CHECK(len > 4 && memcmp(buffer, "hdrb", 4) == 0);
    CHECK(count_in((const uint8_t *)buffer, len, text) == 1);
    close(fd);
}

static void readers(void) {
    evl_attach_options options;
    evl_reader reader;
    evl_reader_statistics statistics;
    evl_listener unix_listener, tcp_listener;
    evl_log log = log_to(null_sink());
    evl_sink sink = file_sink("reader.eventlog"), to_unix, to_tcp;
    struct sockaddr_un address;
    char *path = path_of("socket"), found[256];
    int fd, fds[2];
    uint64_t refused = 7;

    OK(evl_attach_options_init(&options, sizeof options));
    CHECK(options.queue_bytes == 8 << 20);
    options.linger_ns = 10 * SECOND;
    options.readers = 2;
    OK(evl_attach(log, sink, &options, &reader));
    OK(evl_sink_release(sink));
    OK(evl_message(log, "for the reader", EVL_NUL_ENDED));
    statistics.size = sizeof statistics;
    OK(evl_get_reader_statistics(reader, &statistics));
    CHECK(statistics.has_failed == 0);
    OK(evl_detach(reader, &statistics));
    CHECK(statistics.lost_events == 0 && statistics.blocks > 0);
    CHECK(count_in_file("reader.eventlog", "for the reader") == 1);

    CHECK(pipe(fds) == 0);
    OK(evl_sink_fd(fds[1], EVL_CLOSE, &sink));
    OK(evl_attach(log, sink, NULL, &reader));
    OK(evl_sink_release(sink));
    OK(evl_detach(reader, NULL));
    read_all(fds[0], "every_function");

    OK(evl_listen_unix(log, path, &options, &unix_listener));
    OK(evl_listener_address(unix_listener, found, sizeof found));
    CHECK(strcmp(found, path) == 0);
    OK(evl_listen_tcp(log, "127.0.0.1:0", 0, &options, &tcp_listener));
    OK(evl_listener_address(tcp_listener, found, sizeof found));
    CHECK(strncmp(found, "127.0.0.1:", 10) == 0 && strcmp(found, "127.0.0.1:0") != 0);

    /* A log of another program that goes to this one's socket makes nothing of it; but it connects. */
    OK(evl_sink_unix(path, &to_unix));
    OK(evl_sink_tcp(found, &to_tcp));
    OK(evl_sink_release(to_unix));
    OK(evl_sink_release(to_tcp));

    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    CHECK(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    {
        /* Attached once it has the beginning. */
        char first;
        CHECK(recv(fd, &first, 1, MSG_PEEK) == 1);
    }
    OK(evl_message(log, "for the socket", EVL_NUL_ENDED));
    OK(evl_listener_refused(unix_listener, &refused));
    CHECK(refused == 0);
    OK(evl_listener_close(unix_listener));
    OK(evl_listener_close(tcp_listener));
    OK(evl_drop(log));
    read_all(fd, "for the socket");
    free(path);
}

static void queue(void) {
    evl_attach_options options;
    evl_sink sink = file_sink("queued.eventlog"), stuck;
    evl_statistics statistics;
    evl_log log;
    int fds[2];
    OK(evl_sink_queue(sink, NULL));
    OK(evl_create(NULL, sink, &log));
    OK(evl_message(log, "by the queue", EVL_NUL_ENDED));

    /* A pipe that nobody reads holds up nothing. */
    CHECK(pipe(fds) == 0);
    OK(evl_attach_options_init(&options, sizeof options));
    options.queue_bytes = 100000;
    options.linger_ns = 1000000;
    OK(evl_sink_fd(fds[1], EVL_CLOSE, &stuck));
    OK(evl_sink_queue(stuck, &options));
    OK(evl_set_sink(log, stuck, EVL_KEEP_PREVIOUS, EVL_HEADER));
    {
        static char text[60000];
        int at;
        memset(text, 'x', sizeof text);
        for (at = 0; at < 8; at++) {
            OK(evl_message(log, text, sizeof text));
            OK(evl_flush(log));
        }
    }
    OK(evl_set_sink(log, sink, EVL_CLOSE_PREVIOUS, EVL_CONTINUE));
    OK(evl_sink_release(stuck));
    OK(evl_message(log, "by the queue", EVL_NUL_ENDED));
    statistics.size = sizeof statistics;
    close(fds[0]);
    OK(evl_stop(log, &statistics));
    CHECK(statistics.lost.sink > 0 && statistics.lost.full == 0);
    OK(evl_drop(log));
    OK(evl_sink_release(sink));
    CHECK(count_in_file("queued.eventlog", "by the queue") == 2);
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    texts();
    life();
    own_types();
    redirection();
    memory();
    recorder();
    queue();
    readers();
    return 0;
}
