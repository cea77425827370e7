/* Whatever is wrong with a call is told by a code and a text, and nothing worse happens. */
#include "check.h"

static void nulls(void) {
    evl_log no_log = {0}, log = log_to(null_sink());
    evl_capability no_capability = {0};
    evl_sink no_sink = {0}, sink = null_sink();
    evl_type no_type = {0};
    evl_chunk no_chunk = {0};
    evl_reader no_reader = {0};
    evl_listener no_listener = {0};
    evl_sticky no_sticky = {0};
    evl_policy policy = {EVL_DROP_NEWEST, 0, 0};
    evl_statistics statistics;
    evl_buffer_statistics buffer;
    evl_reader_statistics reader_statistics;
    uint8_t *bytes;
    const uint8_t *there;
    size_t len;
    uint64_t number;
    uint16_t small;
    int is;
    FILE *stream;
    evl_sticky sticky;

    statistics.size = sizeof statistics;
    buffer.size = sizeof buffer;
    reader_statistics.size = sizeof reader_statistics;

    /* Handles: what was never made. */
    REFUSED(EVL_ERR_NULL, "event log", evl_flush(no_log));
    GIVES(EVL_ERR_NULL, evl_stop(no_log, NULL));
    GIVES(EVL_ERR_NULL, evl_drop(no_log));
    GIVES(EVL_ERR_NULL, evl_message(no_log, "x", 1));
    GIVES(EVL_ERR_NULL, evl_marker(no_log, "x", 1));
    GIVES(EVL_ERR_NULL, evl_emit(no_log, 9, NULL, 0));
    GIVES(EVL_ERR_NULL, evl_emit_values(no_log, no_type, NULL, 0));
    GIVES(EVL_ERR_NULL, evl_emit_sticky(no_log, 9, NULL, 0, &sticky));
    GIVES(EVL_ERR_NULL, evl_set_sink(no_log, sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    REFUSED(EVL_ERR_NULL, "sink", evl_set_sink(log, no_sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    GIVES(EVL_ERR_NULL, evl_get_sink(no_log, &sink));
    GIVES(EVL_ERR_NULL, evl_snapshot(no_log, sink, NULL));
    GIVES(EVL_ERR_NULL, evl_snapshot(log, no_sink, NULL));
    GIVES(EVL_ERR_NULL, evl_resize(no_log, 1 << 20));
    GIVES(EVL_ERR_NULL, evl_buffers_size(no_log, &number));
    GIVES(EVL_ERR_NULL, evl_set_policy(no_log, policy));
    GIVES(EVL_ERR_NULL, evl_get_policy(no_log, &policy));
    GIVES(EVL_ERR_NULL, evl_now(no_log, &number));
    GIVES(EVL_ERR_NULL, evl_get_statistics(no_log, &statistics));
    GIVES(EVL_ERR_NULL, evl_get_buffer_statistics(no_log, 0, &buffer));
    GIVES(EVL_ERR_NULL, evl_get_reader_statistics(no_reader, &reader_statistics));
    GIVES(EVL_ERR_NULL, evl_create(NULL, no_sink, &log));
    REFUSED(EVL_ERR_NULL, "capability", evl_capability_message(no_capability, "x", 1));
    GIVES(EVL_ERR_NULL, evl_capability_marker(no_capability, "x", 1));
    GIVES(EVL_ERR_NULL, evl_capability_emit(no_capability, 9, NULL, 0));
    GIVES(EVL_ERR_NULL, evl_capability_emit_values(no_capability, no_type, NULL, 0));
    GIVES(EVL_ERR_NULL, evl_capability_emit_sticky(no_capability, 9, NULL, 0, &sticky));
    GIVES(EVL_ERR_NULL, evl_capability_number(no_capability, &small));
    GIVES(EVL_ERR_NULL, evl_capability_release(no_capability));
    GIVES(EVL_ERR_NULL, evl_sink_close(no_sink));
    GIVES(EVL_ERR_NULL, evl_sink_release(no_sink));
    GIVES(EVL_ERR_NULL, evl_sink_get_stream(no_sink, &stream));
    GIVES(EVL_ERR_NULL, evl_type_id(no_type, &small));
    GIVES(EVL_ERR_NULL, evl_type_release(no_type));
    GIVES(EVL_ERR_NULL, evl_chunk_header(no_sink, &bytes, &len));
    GIVES(EVL_ERR_NULL, evl_chunk_copy(no_sink, 0, &bytes, &len));
    GIVES(EVL_ERR_NULL, evl_chunk_take(no_sink, 0, &no_chunk));
    GIVES(EVL_ERR_NULL, evl_chunk_count(no_sink, NULL, NULL));
    GIVES(EVL_ERR_NULL, evl_chunk_bytes(no_chunk, &there, &len));
    GIVES(EVL_ERR_NULL, evl_chunk_is_final(no_chunk, &is));
    GIVES(EVL_ERR_NULL, evl_chunk_release(no_chunk));
    GIVES(EVL_ERR_NULL, evl_attach(no_log, sink, NULL, &no_reader));
    GIVES(EVL_ERR_NULL, evl_detach(no_reader, NULL));
    GIVES(EVL_ERR_NULL, evl_listen_unix(no_log, "x", NULL, &no_listener));
    GIVES(EVL_ERR_NULL, evl_listen_tcp(no_log, "127.0.0.1:0", 0, NULL, &no_listener));
    GIVES(EVL_ERR_NULL, evl_listener_address(no_listener, NULL, 0));
    GIVES(EVL_ERR_NULL, evl_listener_close(no_listener));
    GIVES(EVL_ERR_NULL, evl_listener_refused(no_listener, &number));
    GIVES(EVL_ERR_NULL, evl_sink_queue(no_sink, NULL));
    GIVES(EVL_ERR_NULL, evl_sticky_remove(no_sticky));

    /* Pointers. */
    REFUSED(EVL_ERR_NULL, "sink", evl_sink_null(NULL));
    REFUSED(EVL_ERR_NULL, "path", evl_sink_file(NULL, &sink));
    REFUSED(EVL_ERR_NULL, "stream", evl_sink_stream(NULL, 0, &sink));
    REFUSED(EVL_ERR_NULL, "path", evl_sink_unix(NULL, &sink));
    REFUSED(EVL_ERR_NULL, "address", evl_sink_tcp(NULL, &sink));
    REFUSED(EVL_ERR_NULL, "write", evl_sink_callback(NULL, NULL, NULL, &sink));
    REFUSED(EVL_ERR_NULL, "log", evl_create(NULL, sink, NULL));
    REFUSED(EVL_ERR_NULL, "capability", evl_capability_new(log, NULL));
    REFUSED(EVL_ERR_NULL, "text", evl_message(log, NULL, EVL_NUL_ENDED));
    REFUSED(EVL_ERR_NULL, "text", evl_message(log, NULL, 1));
    OK(evl_message(log, NULL, 0));
    REFUSED(EVL_ERR_NULL, "payload", evl_emit(log, 19, NULL, 1));
    REFUSED(EVL_ERR_NULL, "sticky", evl_emit_sticky(log, 9, NULL, 0, NULL));
    REFUSED(EVL_ERR_NULL, "evl_config", evl_config_init(NULL, sizeof(evl_config)));
    REFUSED(EVL_ERR_NULL, "evl_attach_options", evl_attach_options_init(NULL, sizeof(evl_attach_options)));
    REFUSED(EVL_ERR_NULL, "evl_statistics", evl_get_statistics(log, NULL));
    REFUSED(EVL_ERR_NULL, "evl_buffer_statistics", evl_get_buffer_statistics(log, 0, NULL));
    REFUSED(EVL_ERR_NULL, "policy", evl_get_policy(log, NULL));
    REFUSED(EVL_ERR_NULL, "nanoseconds", evl_now(log, NULL));
    REFUSED(EVL_ERR_NULL, "bytes", evl_buffers_size(log, NULL));
    REFUSED(EVL_ERR_NULL, "sink", evl_get_sink(log, NULL));
    REFUSED(EVL_ERR_NULL, "type", evl_type_new(0, "x", NULL, 0, NULL));
    REFUSED(EVL_ERR_NULL, "name", evl_type_new(0, NULL, NULL, 0, &no_type));
    REFUSED(EVL_ERR_NULL, "fields", evl_type_new(0, "x", NULL, 1, &no_type));
    REFUSED(EVL_ERR_NULL, "reader", evl_attach(log, sink, NULL, NULL));
    REFUSED(EVL_ERR_NULL, "listener", evl_listen_tcp(log, "127.0.0.1:0", 0, NULL, NULL));
    REFUSED(EVL_ERR_NULL, "path", evl_listen_unix(log, NULL, NULL, &no_listener));

    OK(evl_sink_release(sink));
    OK(evl_drop(log));
}

static void stale_and_foreign(void) {
    evl_sink sink = null_sink(), stale_sink;
    evl_log log, other;
    evl_capability capability, forged;
    evl_chunk chunk;
    evl_reader reader;
    evl_sticky sticky;
    uint64_t at;

    OK(evl_create(NULL, sink, &log));
    OK(evl_capability_new(log, &capability));
    OK(evl_emit_sticky(log, 19, (const uint8_t *)"x", 1, &sticky));

    /* Of another kind. */
    forged.id = log.id;
    REFUSED(EVL_ERR_HANDLE, "no handle of a capability", evl_capability_message(forged, "x", 1));
    other.id = capability.id;
    REFUSED(EVL_ERR_HANDLE, "no handle of an event log", evl_flush(other));
    chunk.id = sink.id;
    GIVES(EVL_ERR_HANDLE, evl_chunk_release(chunk));
    reader.id = sticky.id;
    GIVES(EVL_ERR_HANDLE, evl_detach(reader, NULL));

    /* Never given out. */
    other.id = 1;
    GIVES(EVL_ERR_HANDLE, evl_flush(other));
    other.id = UINT64_MAX;
    GIVES(EVL_ERR_HANDLE, evl_flush(other));
    for (at = 1; at < 64; at++) {
        int code;
        other.id = log.id ^ (UINT64_C(1) << at);
        code = evl_flush(other);
        CHECK(code == EVL_ERR_HANDLE || code == EVL_ERR_STALE || code == EVL_ERR_FORKED);
    }

    /* Given back. */
    OK(evl_capability_release(capability));
    REFUSED(EVL_ERR_STALE, "given back", evl_capability_release(capability));
    GIVES(EVL_ERR_STALE, evl_capability_message(capability, "x", 1));
    OK(evl_sticky_remove(sticky));
    GIVES(EVL_ERR_STALE, evl_sticky_remove(sticky));
    stale_sink = sink;
    OK(evl_sink_release(sink));
    GIVES(EVL_ERR_STALE, evl_sink_release(stale_sink));
    GIVES(EVL_ERR_STALE, evl_set_sink(log, stale_sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    OK(evl_drop(log));
    GIVES(EVL_ERR_STALE, evl_drop(log));
    GIVES(EVL_ERR_STALE, evl_stop(log, NULL));
    GIVES(EVL_ERR_STALE, evl_message(log, "x", 1));

    /* Their places are used again, and they stay stale. */
    for (at = 0; at < 1000; at++) {
        other = log_to(null_sink());
        CHECK(other.id != log.id);
        GIVES(EVL_ERR_STALE, evl_flush(log));
        if (at % 100 != 0) {
            evl_capability some;
            OK(evl_capability_new(other, &some));
            GIVES(EVL_ERR_STALE, evl_capability_message(capability, "x", 1));
            OK(evl_capability_release(some));
        }
        OK(evl_drop(other));
        if (at == 20) at = 980;
    }
}

static void life_and_ends(void) {
    evl_statistics statistics;
    evl_capability capability, late;
    evl_reader reader;
    evl_listener listener;
    evl_sticky sticky;
    evl_sink sink = null_sink(), new_sink = null_sink(), at_reader = file_sink("reader.eventlog");
    evl_log log;
    OK(evl_create(NULL, sink, &log));
    OK(evl_capability_new(log, &capability));
    OK(evl_attach(log, at_reader, NULL, &reader));
    OK(evl_sink_release(at_reader));
    OK(evl_listen_tcp(log, "127.0.0.1:0", 0, NULL, &listener));
    OK(evl_emit_sticky(log, 19, (const uint8_t *)"x", 1, &sticky));
    statistics.size = sizeof statistics;
    OK(evl_stop(log, &statistics));
    CHECK(statistics.lost.stopped == 0);
    /* A double stop is told, and tells. */
    statistics.events = 0;
    REFUSED(EVL_ERR_STOPPED, "stopped", evl_stop(log, &statistics));
    CHECK(statistics.events > 0);
    GIVES(EVL_ERR_STOPPED, evl_message(log, "x", 1));
    GIVES(EVL_ERR_STOPPED, evl_capability_message(capability, "x", 1));
    GIVES(EVL_ERR_STOPPED, evl_capability_new(log, &late));
    GIVES(EVL_ERR_STOPPED, evl_set_sink(log, new_sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    GIVES(EVL_ERR_STOPPED, evl_emit_sticky(log, 9, NULL, 0, &sticky));
    {
        evl_listener late_listener;
        GIVES(EVL_ERR_STOPPED, evl_listen_tcp(log, "127.0.0.1:0", 0, NULL, &late_listener));
    }
    GIVES(EVL_ERR_DETACHED, evl_detach(reader, NULL));
    GIVES(EVL_ERR_STALE, evl_detach(reader, NULL));
    statistics = statistics_of(log);
    CHECK(statistics.lost.stopped == 3);
    /* A sink that has ended a log takes no other. */
    GIVES(EVL_ERR_USED, evl_sink_close(sink));
    OK(evl_drop(log));
    {
        evl_log other;
        GIVES(EVL_ERR_USED, evl_create(NULL, sink, &other));
    }
    /* What was the log's is given back with it; what is a thread's is not. */
    GIVES(EVL_ERR_STALE, evl_listener_close(listener));
    GIVES(EVL_ERR_STOPPED, evl_capability_message(capability, "x", 1));
    OK(evl_capability_release(capability));
    OK(evl_sink_release(sink));
    OK(evl_sink_release(new_sink));
}

static void sizes(void) {
    static const uint64_t wrong[] = {0, 1, 8, 15, 17, 4104, UINT64_MAX};
    evl_config config;
    evl_attach_options options;
    evl_statistics statistics;
    evl_reader reader;
    evl_sink sink = null_sink();
    evl_log log, made;
    size_t at;
    struct {
        evl_config config;
        uint64_t newer[2];
    } larger;
    struct {
        evl_statistics statistics;
        uint64_t newer[2];
    } filled;

    log = log_to(null_sink());
    for (at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        REFUSED(EVL_ERR_SIZE, "sizeof(evl_config)", evl_config_init(&config, wrong[at]));
        OK(evl_config_init(&config, sizeof config));
        config.size = wrong[at];
        REFUSED(EVL_ERR_SIZE, "sizeof(evl_config)", evl_create(&config, sink, &made));
        statistics.size = wrong[at];
        REFUSED(EVL_ERR_SIZE, "sizeof(evl_statistics)", evl_get_statistics(log, &statistics));
        GIVES(EVL_ERR_SIZE, evl_stop(log, &statistics));
        options.size = wrong[at];
        REFUSED(EVL_ERR_SIZE, "sizeof(evl_attach_options)", evl_attach(log, sink, &options, &reader));
    }
    /* A program that is older than the library. */
    OK(evl_config_init(&config, 16));
    config.buffer_bytes = 70000;
    OK(evl_create(&config, sink, &made));
    memset(&statistics, 0xee, sizeof statistics);
    statistics.size = 24;
    OK(evl_get_statistics(made, &statistics));
    CHECK(statistics.size == 24 && statistics.events != 0 && statistics.blocks == UINT64_C(0xeeeeeeeeeeeeeeee));
    OK(evl_drop(made));
    /* One that is newer. */
    memset(&larger, 0, sizeof larger);
    OK(evl_config_init(&larger.config, sizeof larger));
    CHECK(larger.config.size == sizeof larger);
    larger.newer[1] = 1;
    REFUSED(EVL_ERR_SIZE, "knows", evl_create(&larger.config, sink, &made));
    larger.newer[1] = 0;
    OK(evl_sink_release(sink));
    sink = null_sink();
    OK(evl_create(&larger.config, sink, &made));
    memset(&filled, 0xee, sizeof filled);
    filled.statistics.size = sizeof filled;
    OK(evl_get_statistics(made, &filled.statistics));
    CHECK(filled.newer[0] == 0 && filled.newer[1] == 0);
    OK(evl_drop(made));
    OK(evl_sink_release(sink));
    OK(evl_drop(log));
}

static void values_out_of_bounds(void) {
    evl_config config;
    evl_policy policy = {4, 0, 0};
    evl_attach_options options;
    evl_sink sink = null_sink(), other, memory;
    evl_log log, made;
    evl_reader reader;
    evl_listener listener;
    evl_type type, twin, none;
    evl_field field = {"bytes", 9, 0}, fields[2];
    evl_value value;
    evl_type types[2];
    evl_buffer_statistics buffer;
    uint8_t *payload;
    uint8_t *bytes;
    size_t len;
    uint64_t size;
    char small[4];
    FILE *stream;

    /* Sizes of buffers. */
    OK(evl_config_init(&config, sizeof config));
    config.buffer_bytes = 0;
    REFUSED(EVL_ERR_ARGUMENT, "at least 65571", evl_create(&config, sink, &made));
    config.buffer_bytes = UINT64_MAX;
    REFUSED(EVL_ERR_ARGUMENT, "at most", evl_create(&config, sink, &made));
    OK(evl_config_init(&config, sizeof config));
    config.flush_interval_ns = 0;
    REFUSED(EVL_ERR_ARGUMENT, "flush_interval_ns is 0: at least 1000000", evl_create(&config, sink, &made));
    OK(evl_config_init(&config, sizeof config));
    config.policy = policy;
    REFUSED(EVL_ERR_ARGUMENT, "4 is no policy", evl_create(&config, sink, &made));
    OK(evl_create(NULL, sink, &log));
    GIVES(EVL_ERR_USED, evl_create(NULL, sink, &made));
    OK(evl_buffers_size(log, &size));
    REFUSED(EVL_ERR_ARGUMENT, "a buffer of 0 bytes", evl_resize(log, 0));
    REFUSED(EVL_ERR_ARGUMENT, "at least 65571", evl_resize(log, 65570));
    GIVES(EVL_ERR_ARGUMENT, evl_resize(log, UINT64_MAX));
    {
        uint64_t same;
        OK(evl_buffers_size(log, &same));
        CHECK(same == size);
    }
    REFUSED(EVL_ERR_ARGUMENT, "4 is no policy", evl_set_policy(log, policy));
    policy.kind = EVL_GROW;
    REFUSED(EVL_ERR_ARGUMENT, "0 bytes", evl_set_policy(log, policy));
    REFUSED(EVL_ERR_ARGUMENT, "a budget of 0 bytes", evl_sink_memory(0, EVL_KEEP_OLDEST, &other));
    REFUSED(EVL_ERR_ARGUMENT, "2 is nothing to do", evl_sink_memory(1, 2, &other));
    REFUSED(EVL_ERR_ARGUMENT, "of 0 bytes", evl_sink_recorder(0, 0, &other));
    REFUSED(EVL_ERR_ARGUMENT, "previous sink", evl_set_sink(log, sink, 2, EVL_HEADER));
    REFUSED(EVL_ERR_ARGUMENT, "no way to begin", evl_set_sink(log, sink, EVL_CLOSE_PREVIOUS, -1));
    GIVES(EVL_ERR_USED, evl_set_sink(log, sink, EVL_CLOSE_PREVIOUS, EVL_HEADER));

    /* Events. */
    payload = (uint8_t *)calloc(1, 65536);
    CHECK(payload != NULL);
    memset(payload, 'a', 65536);
    OK(evl_emit(log, 19, payload, 65535));
    REFUSED(EVL_ERR_TOO_LARGE, "65536 bytes as the payload of an event of type 19: at most 65535",
            evl_emit(log, 19, payload, 65536));
    OK(evl_message(log, (const char *)payload, 65536));
    REFUSED(EVL_ERR_PAYLOAD, "1 bytes", evl_emit(log, 0, payload, 1));
    REFUSED(EVL_ERR_PAYLOAD, "5 bytes as the payload of an event of type 0, whose fields take 4",
            evl_emit(log, 0, payload, 5));
    REFUSED(EVL_ERR_UNDECLARED, "1100", evl_emit(log, 1100, payload, 1));
    REFUSED(EVL_ERR_UNDECLARED, "of type 18", evl_emit(log, 18, payload, 14));
    GIVES(EVL_ERR_UNDECLARED, evl_emit(log, 65535, payload, 0));
    payload[3] = 0xff;
    GIVES(EVL_ERR_PAYLOAD, evl_emit(log, 19, payload, 10));
    OK(evl_message(log, (const char *)payload, 10));
    REFUSED(EVL_ERR_ARGUMENT, "no memory has more", evl_emit(log, 19, payload, (size_t)-2));
    free(payload);

    /* Types. */
    REFUSED(EVL_ERR_ARGUMENT, "9 is no type of a field", evl_type_new(0, "request", &field, 1, &none));
    field.type = 0;
    GIVES(EVL_ERR_ARGUMENT, evl_type_new(0, "request", &field, 1, &none));
    field.type = EVL_U8;
    REFUSED(EVL_ERR_ARGUMENT, "960, the greatest is 959", evl_type_new(960, "request", &field, 1, &none));
    GIVES(EVL_ERR_ARGUMENT, evl_type_new(0, "", &field, 1, &none));
    REFUSED(EVL_ERR_TEXT, "name is not UTF-8 at byte 1", evl_type_new(0, "a\xff", &field, 1, &none));
    GIVES(EVL_ERR_ARGUMENT, evl_type_new(0, "request", &field, 65537, &none));
    fields[0] = field;
    fields[1] = field;
    REFUSED(EVL_ERR_ARGUMENT, "two fields", evl_type_new(0, "request", fields, 2, &none));
    OK(evl_type_new(0, "request", &field, 1, &type));
    OK(evl_type_new(0, "answer", &field, 1, &twin));
    types[0] = type;
    types[1] = twin;
    OK(evl_config_init(&config, sizeof config));
    config.types = types;
    config.types_len = 2;
    REFUSED(EVL_ERR_ARGUMENT, "both have id 1088", evl_create(&config, sink, &made));
    config.types_len = 1;
    OK(evl_sink_null(&other));
    OK(evl_create(&config, other, &made));
    OK(evl_sink_release(other));
    memset(&value, 0, sizeof value);
    REFUSED(EVL_ERR_ARGUMENT, "0 is no type of a field", evl_emit_values(made, type, &value, 1));
    value.type = EVL_U8;
    value.as.u = 256;
    REFUSED(EVL_ERR_ARGUMENT, "256 is no value of a field of type u8", evl_emit_values(made, type, &value, 1));
    value.as.u = 255;
    OK(evl_emit_values(made, type, &value, 1));
    REFUSED(EVL_ERR_PAYLOAD, "0 values for request", evl_emit_values(made, type, &value, 0));
    REFUSED(EVL_ERR_UNDECLARED, "1088", evl_emit_values(made, twin, &value, 1));
    value.type = EVL_STR;
    value.as.bytes.data = (const uint8_t *)"\xff";
    value.as.bytes.len = 1;
    GIVES(EVL_ERR_TEXT, evl_emit_values(made, type, &value, 1));
    value.as.bytes.data = NULL;
    GIVES(EVL_ERR_NULL, evl_emit_values(made, type, &value, 1));
    value.as.bytes.len = 0;
    REFUSED(EVL_ERR_PAYLOAD, "takes u8, not str", evl_emit_values(made, type, &value, 1));
    CHECK(statistics_of(made).lost.undeclared == 1);
    OK(evl_drop(made));
    OK(evl_type_release(type));
    GIVES(EVL_ERR_STALE, evl_create(&config, sink, &made));
    OK(evl_type_release(twin));

    /* Sinks of the wrong kind, and used ones. */
    REFUSED(EVL_ERR_IO, "/nowhere/at/all", evl_sink_file("/nowhere/at/all", &other));
    REFUSED(EVL_ERR_IO, "/nowhere/at/all", evl_sink_unix("/nowhere/at/all", &other));
    GIVES(EVL_ERR_IO, evl_sink_tcp("no address", &other));
    REFUSED(EVL_ERR_IO, "file descriptor -1", evl_sink_fd(-1, 0, &other));
    REFUSED(EVL_ERR_ARGUMENT, "flags 0x2", evl_sink_fd(0, EVL_ANYWHERE, &other));
    REFUSED(EVL_ERR_ARGUMENT, "flags 0x8", evl_sink_stream(stderr, 8, &other));
    REFUSED(EVL_ERR_ARGUMENT, "no stream", evl_sink_get_stream(sink, &stream));
    REFUSED(EVL_ERR_ARGUMENT, "no chunks", evl_chunk_copy(sink, 0, &bytes, &len));
    GIVES(EVL_ERR_ARGUMENT, evl_chunk_header(sink, &bytes, &len));
    GIVES(EVL_ERR_ARGUMENT, evl_chunk_count(sink, NULL, NULL));
    OK(evl_sink_memory(1, EVL_KEEP_NEWEST, &memory));
    GIVES(EVL_ERR_USED, evl_attach(log, memory, NULL, &reader));
    GIVES(EVL_ERR_USED, evl_snapshot(log, memory, NULL));
    OK(evl_sink_release(memory));
    other = file_sink("not-recording.eventlog");
    GIVES(EVL_ERR_NOT_RECORDING, evl_snapshot(log, other, NULL));
    GIVES(EVL_ERR_USED, evl_snapshot(log, other, NULL));
    GIVES(EVL_ERR_USED, evl_attach(log, other, NULL, &reader));
    GIVES(EVL_ERR_USED, evl_set_sink(log, other, EVL_CLOSE_PREVIOUS, EVL_HEADER));
    OK(evl_sink_release(other));
    GIVES(EVL_ERR_USED, evl_sink_close(sink));

    /* Readers. */
    OK(evl_attach_options_init(&options, sizeof options));
    options.queue_bytes = 0;
    REFUSED(EVL_ERR_ARGUMENT, "queue_bytes is 0", evl_attach(log, sink, &options, &reader));
    REFUSED(EVL_ERR_ARGUMENT, "no address", evl_listen_tcp(log, "localhost", 0, NULL, &listener));
    REFUSED(EVL_ERR_ARGUMENT, "EVL_ANYWHERE", evl_listen_tcp(log, "0.0.0.0:0", 0, NULL, &listener));
    GIVES(EVL_ERR_ARGUMENT, evl_listen_tcp(log, "127.0.0.1:0", EVL_CLOSE, NULL, &listener));
    GIVES(EVL_ERR_IO, evl_listen_unix(log, "/nowhere/at/all", NULL, &listener));
    OK(evl_attach_options_init(&options, sizeof options));
    options.readers = 0;
    REFUSED(EVL_ERR_ARGUMENT, "readers is 0", evl_listen_tcp(log, "127.0.0.1:0", 0, &options, &listener));
    OK(evl_listen_tcp(log, "127.0.0.1:0", EVL_ANYWHERE, NULL, &listener));
    REFUSED(EVL_ERR_NULL, "refused", evl_listener_refused(listener, NULL));
    GIVES(EVL_ERR_USED, evl_sink_queue(sink, NULL));
    REFUSED(EVL_ERR_TOO_LARGE, "room for 4 bytes", evl_listener_address(listener, small, sizeof small));
    GIVES(EVL_ERR_NULL, evl_listener_address(listener, NULL, 0));
    OK(evl_listener_close(listener));
    buffer.size = sizeof buffer;
    REFUSED(EVL_ERR_ARGUMENT, "number 3", evl_get_buffer_statistics(log, 3, &buffer));

    OK(evl_sink_release(sink));
    OK(evl_drop(log));
}

/* The largest numbers are as good as any where no bound is told. */
static void largest_values(void) {
    evl_config config;
    evl_attach_options options;
    evl_policy grow = {EVL_GROW, 0, UINT64_MAX}, wait = {EVL_WAIT, 0, UINT64_MAX};
    evl_sink sinks[3], at_reader;
    evl_reader reader;
    evl_log log;
    int at;

    OK(evl_config_init(&config, sizeof config));
    config.flush_interval_ns = UINT64_MAX;
    config.policy = grow;
    config.sticky_bytes = UINT64_MAX;
    config.sink_backlog_bytes = UINT64_MAX;
    OK(evl_attach_options_init(&options, sizeof options));
    options.queue_bytes = UINT64_MAX;
    options.linger_ns = UINT64_MAX;
    OK(evl_sink_memory(UINT64_MAX, EVL_KEEP_NEWEST, &sinks[0]));
    OK(evl_sink_recorder(UINT64_MAX, UINT64_MAX, &sinks[1]));
    sinks[2] = null_sink();
    for (at = 0; at < 3; at++) {
        evl_sticky sticky;
        at_reader = null_sink();
        OK(evl_create(&config, sinks[at], &log));
        OK(evl_set_policy(log, wait));
        OK(evl_set_policy(log, grow));
        OK(evl_attach(log, at_reader, &options, &reader));
        OK(evl_emit_sticky(log, 19, (const uint8_t *)"x", 1, &sticky));
        OK(evl_message(log, "x", 1));
        OK(evl_flush(log));
        OK(evl_detach(reader, NULL));
        OK(evl_drop(log));
        OK(evl_sink_release(at_reader));
        OK(evl_sink_release(sinks[at]));
    }
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    nulls();
    stale_and_foreign();
    life_and_ends();
    sizes();
    values_out_of_bounds();
    largest_values();
    return 0;
}
