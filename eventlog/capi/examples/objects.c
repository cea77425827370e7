/* A host of profiled objects in C: looks into one, loads it, lists its cost centres, calls it under a profile, and unloads it.
 *
 *     cc -O2 -fPIC -shared $(pkg-config --cflags eventlog) sample.c -o sample.so
 *     cc objects.c $(pkg-config --cflags --libs eventlog) -o objects
 *     ./objects ./sample.so objects.eventlog
 *     eventlog stats objects.eventlog
 *
 * sample.c is in eventlog/object/sample. */
#include <eventlog.h>
#include <stdio.h>
#include <stdlib.h>

/* The type of the object's function. */
typedef uint64_t run_function(uint64_t rounds);

static void must(int code, const char *what) {
    if (code == EVL_OK) return;
    fprintf(stderr, "%s: %s\n", what, evl_last_error());
    exit(1);
}

/* Whether this program would load it, and what it is. */
static void tell(const char *path) {
    evl_object_file file;
    evl_object_info info = {sizeof info, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    must(evl_objects_inspect(path, &file), "it would not be loaded");
    must(evl_object_file_info(file, &info), "file");
    printf("%s: way %d, tables of version %d.%d, %d cost centres\n", info.name, (int)info.way, (int)info.abi_major,
           (int)info.abi_minor, (int)info.cost_centres);
    must(evl_object_file_release(file), "file");
}

/* The list of cost centres, as it is now. */
static void list_all(void) {
    evl_cost_centres list;
    evl_cost_centre_info info = {sizeof info, 0, 0, 0, 0, 0, 0, 0};
    uint64_t len, index;
    must(evl_objects_cost_centres(&list), "list");
    must(evl_cost_centres_len(list, &len), "list");
    for (index = 0; index < len; index++) {
        must(evl_cost_centres_get(list, index, &info), "list");
        printf("  %d: %s.%s (%s)\n", (int)info.id, info.module, info.label, info.srcloc);
    }
    must(evl_cost_centres_release(list), "list");
}

int main(int argc, char **argv) {
    evl_sink sink;
    evl_log log;
    evl_profiler profiler;
    evl_profiler_statistics statistics = {sizeof statistics, 0, 0, 0, 0, 0, 0, 0};
    evl_loaded object;
    evl_function function;
    evl_call call;
    char reasons[200];
    int outcome;

    if (argc != 3) {
        fprintf(stderr, "usage: objects OBJECT.so LOG.eventlog\n");
        return 2;
    }
    tell(argv[1]);
    must(evl_sink_file(argv[2], &sink), "file of the log");
    must(evl_create(NULL, sink, &log), "log");
    must(evl_profiler_start(log, NULL, &profiler), "profiler");

    must(evl_objects_load(argv[1], 0, &object), "load");
    list_all();
    must(evl_loaded_function(object, "sample_run", &function), "function");
    do {
        /* While the call is open the object stays where it is. */
        must(evl_loaded_enter(object, &call), "call");
        ((run_function *)function)(1000000);
        must(evl_call_leave(call), "call");
        must(evl_profiler_get_statistics(profiler, &statistics), "profiler");
    } while (statistics.stacks < 20);

    /* EVL_ERR_OBJECT_IN_USE would leave it loaded, to be tried again. */
    must(evl_loaded_unload(object, UINT64_C(1000000000), &outcome, reasons, sizeof reasons), "unload");
    printf(outcome == EVL_UNMAPPED ? "unmapped\n" : "still mapped: %s\n", reasons);
    list_all();

    must(evl_profiler_stop(profiler, &statistics), "profiler");
    must(evl_drop(log), "log");
    must(evl_sink_release(sink), "sink");
    printf("%d samples\n", (int)statistics.stacks);
    return 0;
}
