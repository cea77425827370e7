/* Whatever is wrong with a call that has to do with objects is told by a code and a text, and nothing worse happens. */
#include "check.h"

static evl_loaded load(void) {
    evl_loaded object;
    char *path = path_of("sample.so");
    OK(evl_objects_load(path, 0, &object));
    free(path);
    return object;
}

static void nulls(void) {
    evl_object_file no_file = {0};
    evl_loaded no_object = {0}, object = load();
    evl_call no_call = {0};
    evl_cost_centres no_list = {0}, list;
    evl_profiler no_profiler = {0};
    evl_log no_log = {0};
    evl_object_info info;
    evl_cost_centre_info cost_centre;
    evl_profiler_options options;
    evl_profiler_statistics statistics;
    evl_function function;
    void *variable;
    uint64_t len;
    size_t depth;
    uint32_t entered;
    char reason;

    info.size = sizeof info;
    cost_centre.size = sizeof cost_centre;
    statistics.size = sizeof statistics;
    OK(evl_objects_cost_centres(&list));

    /* Handles. */
    REFUSED(EVL_ERR_NULL, "an object's file", evl_object_file_info(no_file, &info));
    GIVES(EVL_ERR_NULL, evl_object_file_cost_centres(no_file, &list));
    GIVES(EVL_ERR_NULL, evl_object_file_release(no_file));
    REFUSED(EVL_ERR_NULL, "a loaded object", evl_loaded_info(no_object, &info));
    GIVES(EVL_ERR_NULL, evl_loaded_cost_centres(no_object, &list));
    GIVES(EVL_ERR_NULL, evl_loaded_function(no_object, "x", &function));
    GIVES(EVL_ERR_NULL, evl_loaded_variable(no_object, "x", &variable));
    GIVES(EVL_ERR_NULL, evl_loaded_enter(no_object, &no_call));
    GIVES(EVL_ERR_NULL, evl_loaded_unload(no_object, 0, NULL, NULL, 0));
    REFUSED(EVL_ERR_NULL, "an open call", evl_call_leave(no_call));
    REFUSED(EVL_ERR_NULL, "a list of cost centres", evl_cost_centres_len(no_list, &len));
    GIVES(EVL_ERR_NULL, evl_cost_centres_get(no_list, 0, &cost_centre));
    GIVES(EVL_ERR_NULL, evl_cost_centres_find(no_list, 1, &cost_centre));
    GIVES(EVL_ERR_NULL, evl_cost_centres_release(no_list));
    REFUSED(EVL_ERR_NULL, "an event log", evl_objects_define(no_log));
    GIVES(EVL_ERR_NULL, evl_profiler_start(no_log, NULL, &no_profiler));
    REFUSED(EVL_ERR_NULL, "a profiler", evl_profiler_sample_heap(no_profiler));
    GIVES(EVL_ERR_NULL, evl_profiler_get_statistics(no_profiler, &statistics));
    GIVES(EVL_ERR_NULL, evl_profiler_stop(no_profiler, NULL));

    /* Pointers. */
    REFUSED(EVL_ERR_NULL, "file", evl_objects_inspect("x", NULL));
    REFUSED(EVL_ERR_NULL, "path", evl_objects_inspect(NULL, &no_file));
    REFUSED(EVL_ERR_NULL, "bytes", evl_objects_inspect_bytes(NULL, 1, &no_file));
    REFUSED(EVL_ERR_NULL, "file", evl_objects_inspect_bytes(NULL, 0, NULL));
    REFUSED(EVL_ERR_NULL, "name", evl_objects_export(NULL));
    REFUSED(EVL_ERR_NULL, "object", evl_objects_load("x", 0, NULL));
    REFUSED(EVL_ERR_NULL, "path", evl_objects_load(NULL, 0, &no_object));
    REFUSED(EVL_ERR_NULL, "evl_object_info", evl_loaded_info(object, NULL));
    REFUSED(EVL_ERR_NULL, "list", evl_loaded_cost_centres(object, NULL));
    REFUSED(EVL_ERR_NULL, "name", evl_loaded_function(object, NULL, &function));
    REFUSED(EVL_ERR_NULL, "function", evl_loaded_function(object, "x", NULL));
    REFUSED(EVL_ERR_NULL, "variable", evl_loaded_variable(object, "x", NULL));
    REFUSED(EVL_ERR_NULL, "call", evl_loaded_enter(object, NULL));
    REFUSED(EVL_ERR_NULL, "reasons", evl_loaded_unload(object, 0, NULL, NULL, 1));
    REFUSED(EVL_ERR_NULL, "list", evl_objects_cost_centres(NULL));
    REFUSED(EVL_ERR_NULL, "len", evl_cost_centres_len(list, NULL));
    REFUSED(EVL_ERR_NULL, "evl_cost_centre_info", evl_cost_centres_get(list, 0, NULL));
    REFUSED(EVL_ERR_NULL, "evl_cost_centre_info", evl_cost_centres_find(list, 1, NULL));
    REFUSED(EVL_ERR_NULL, "evl_objects_statistics", evl_objects_get_statistics(NULL));
    REFUSED(EVL_ERR_NULL, "entered", evl_stack_enter(1, NULL));
    REFUSED(EVL_ERR_NULL, "depth", evl_stack_get(NULL, 0, NULL));
    REFUSED(EVL_ERR_NULL, "ids", evl_stack_get(NULL, 1, &depth));
    REFUSED(EVL_ERR_NULL, "evl_profiler_options", evl_profiler_options_init(NULL, sizeof options));

    /* Values. */
    REFUSED(EVL_ERR_ARGUMENT, "0x40", evl_objects_load("x", 0x40, &no_object));
    REFUSED(EVL_ERR_TEXT, "name", evl_objects_export("evl_\xff"));
    REFUSED(EVL_ERR_OBJECT_SYMBOL, "does not export nothing", evl_loaded_function(object, "nothing", &function));
    REFUSED(EVL_ERR_OBJECT_SYMBOL, "sample_c", evl_loaded_variable(object, "nothing", &variable));
    REFUSED(EVL_ERR_ARGUMENT, "no cost centre 3 in a list of 3", evl_cost_centres_get(list, 3, &cost_centre));
    GIVES(EVL_ERR_ARGUMENT, evl_cost_centres_get(list, UINT64_MAX, &cost_centre));
    REFUSED(EVL_ERR_ARGUMENT, "number 0", evl_cost_centres_find(list, 0, &cost_centre));
    GIVES(EVL_ERR_ARGUMENT, evl_cost_centres_find(list, UINT32_MAX, &cost_centre));
    REFUSED(EVL_ERR_ARGUMENT, "number 0", evl_stack_enter(0, &entered));
    GIVES(EVL_ERR_ARGUMENT, evl_stack_enter(UINT32_MAX, &entered));
    GIVES(EVL_ERR_ARGUMENT, evl_stack_leave(UINT32_MAX));
    OK(evl_stack_leave(0));
    info.size = 12;
    REFUSED(EVL_ERR_SIZE, "evl_object_info", evl_loaded_info(object, &info));
    cost_centre.size = 0;
    REFUSED(EVL_ERR_SIZE, "evl_cost_centre_info", evl_cost_centres_get(list, 0, &cost_centre));
    GIVES(EVL_ERR_SIZE, evl_profiler_options_init(&options, 1));
    OK(evl_cost_centres_release(list));
    OK(evl_loaded_unload(object, 0, NULL, &reason, 1));
    CHECK(reason == 0);
}

static void profilers(void) {
    evl_log log = log_to(null_sink());
    evl_profiler_options options;
    evl_profiler profiler;
    evl_profiler_statistics statistics;
    OK(evl_profiler_options_init(&options, sizeof options));
    options.tick_ns = 0;
    REFUSED(EVL_ERR_ARGUMENT, "neither time nor bytes", evl_profiler_start(log, &options, &profiler));
    options.tick_ns = 49999;
    REFUSED(EVL_ERR_ARGUMENT, "49.999", evl_profiler_start(log, &options, &profiler));
    options.tick_ns = 0;
    options.has_heap = 2;
    REFUSED(EVL_ERR_ARGUMENT, "has_heap is 2", evl_profiler_start(log, &options, &profiler));
    options.has_heap = 1;
    options.heap_ns = 1;
    REFUSED(EVL_ERR_ARGUMENT, "1ns", evl_profiler_start(log, &options, &profiler));
    REFUSED(EVL_ERR_NULL, "profiler", evl_profiler_start(log, NULL, NULL));
    options.size = 17;
    GIVES(EVL_ERR_SIZE, evl_profiler_start(log, &options, &profiler));
    OK(evl_profiler_start(log, NULL, &profiler));
    REFUSED(EVL_ERR_ARGUMENT, "bytes are not", evl_profiler_sample_heap(profiler));
    statistics.size = 3;
    GIVES(EVL_ERR_SIZE, evl_profiler_stop(profiler, &statistics));
    GIVES(EVL_ERR_NULL, evl_profiler_get_statistics(profiler, NULL));
    OK(evl_stop(log, NULL));
    OK(evl_profiler_stop(profiler, NULL));
    GIVES(EVL_ERR_STOPPED, evl_profiler_start(log, NULL, &profiler));
    OK(evl_drop(log));
    GIVES(EVL_ERR_STALE, evl_profiler_start(log, NULL, &profiler));
    GIVES(EVL_ERR_STALE, evl_objects_define(log));
}

static void stale_and_foreign(void) {
    evl_loaded object = load(), forged;
    evl_object_file file;
    evl_cost_centres list;
    evl_call call;
    evl_object_info info;
    uint64_t len;
    int bit;
    char *path = path_of("sample.so");
    info.size = sizeof info;
    OK(evl_loaded_enter(object, &call));
    OK(evl_objects_inspect(path, &file));
    free(path);
    OK(evl_object_file_cost_centres(file, &list));
    forged.id = call.id;
    REFUSED(EVL_ERR_HANDLE, "no handle of a loaded object", evl_loaded_unload(forged, 0, NULL, NULL, 0));
    forged.id = file.id;
    GIVES(EVL_ERR_HANDLE, evl_loaded_info(forged, &info));
    for (bit = 0; bit < 64; bit++) {
        int code;
        forged.id = object.id ^ (UINT64_C(1) << bit);
        code = evl_loaded_info(forged, &info);
        CHECK(code == EVL_ERR_HANDLE || code == EVL_ERR_STALE || code == EVL_ERR_FORKED);
    }
    OK(evl_object_file_release(file));
    GIVES(EVL_ERR_STALE, evl_object_file_release(file));
    GIVES(EVL_ERR_STALE, evl_object_file_info(file, &info));
    OK(evl_cost_centres_len(list, &len));
    OK(evl_cost_centres_release(list));
    GIVES(EVL_ERR_STALE, evl_cost_centres_release(list));
    GIVES(EVL_ERR_STALE, evl_cost_centres_len(list, &len));
    OK(evl_call_leave(call));
    GIVES(EVL_ERR_STALE, evl_call_leave(call));
    OK(evl_loaded_unload(object, 0, NULL, NULL, 0));
    GIVES(EVL_ERR_STALE, evl_loaded_unload(object, 0, NULL, NULL, 0));
    GIVES(EVL_ERR_STALE, evl_loaded_info(object, &info));
    GIVES(EVL_ERR_STALE, evl_loaded_cost_centres(object, &list));
}

static int calls;
static evl_log other;

/* A sink that would wait for itself. */
static int within(void *context, const uint8_t *bytes, size_t len) {
    evl_loaded object, *loaded = (evl_loaded *)context;
    evl_objects_statistics statistics;
    evl_profiler profiler;
    evl_log log = {0};
    evl_call call;
    evl_cost_centres list;
    (void)bytes;
    (void)len;
    calls++;
    statistics.size = sizeof statistics;
    GIVES(EVL_ERR_IN_SINK, evl_objects_load("x", 0, &object));
    GIVES(EVL_ERR_IN_SINK, evl_objects_get_statistics(&statistics));
    GIVES(EVL_ERR_NULL, evl_profiler_start(log, NULL, &profiler));
    if (other.id != 0) {
        OK(evl_drop(other));
        other.id = 0;
    }
    if (loaded->id != 0) {
        GIVES(EVL_ERR_IN_SINK, evl_loaded_unload(*loaded, 0, NULL, NULL, 0));
        OK(evl_loaded_enter(*loaded, &call));
        OK(evl_call_leave(call));
        OK(evl_objects_cost_centres(&list));
        OK(evl_cost_centres_release(list));
    }
    return 0;
}

static void sinks(void) {
    evl_loaded object = {0};
    evl_profiler profiler;
    evl_sink sink;
    evl_log log;
    OK(evl_sink_callback(within, NULL, &object, &sink));
    log = log_to(sink);
    object = load();
    OK(evl_objects_define(log));
    other = log_to(null_sink());
    OK(evl_profiler_start(other, NULL, &profiler));
    OK(evl_message(log, "for the sink", EVL_NUL_ENDED));
    OK(evl_flush(log));
    CHECK(other.id == 0);
    OK(evl_profiler_stop(profiler, NULL));
    OK(evl_drop(log));
    CHECK(calls > 1);
    OK(evl_loaded_unload(object, 0, NULL, NULL, 0));
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    nulls();
    profilers();
    stale_and_foreign();
    sinks();
    return 0;
}
