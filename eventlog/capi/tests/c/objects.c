/* A host of profiled objects: it looks into them, loads, calls, lists, profiles and unloads them. It has a cost centre of its
 * own. The objects are beside the logs: sample.so, and traps. */
#include "check.h"

#include "eventlog_object.h"
#include <pthread.h>

EVL_SCC_DECL(cc_host, "host", "objects");
EVL_OBJECT("objects", 0, 0);
EVL_SELF_REGISTER();

typedef uint64_t run_function(uint64_t rounds);
typedef void hold_function(uint32_t *entered, const uint32_t *go);
typedef uint64_t trap_function(void);

/* What evl_loaded_function gives goes through a function type. */
static evl_function function_of(evl_loaded object, const char *name) {
    evl_function function = NULL;
    OK(evl_loaded_function(object, name, &function));
    CHECK(function != NULL);
    return function;
}

static evl_loaded load(const char *name) {
    evl_loaded object;
    char *path = path_of(name);
    OK(evl_objects_load(path, 0, &object));
    free(path);
    return object;
}

static uint64_t call(evl_loaded object, uint64_t rounds) {
    run_function *run = (run_function *)function_of(object, "sample_run");
    evl_call call;
    uint64_t result;
    OK(evl_loaded_enter(object, &call));
    result = run(rounds);
    OK(evl_call_leave(call));
    return result;
}

static void unmapped(evl_loaded object) {
    char reasons[100] = "?";
    int outcome = 7;
    OK(evl_loaded_unload(object, 60 * SECOND, &outcome, reasons, sizeof reasons));
    CHECK(outcome == EVL_UNMAPPED && strcmp(reasons, "") == 0);
    GIVES(EVL_ERR_STALE, evl_loaded_unload(object, 0, NULL, NULL, 0));
}

static uint64_t len_of(evl_cost_centres list) {
    uint64_t len = 77;
    OK(evl_cost_centres_len(list, &len));
    return len;
}

static evl_cost_centre_info at(evl_cost_centres list, uint64_t index) {
    evl_cost_centre_info info;
    info.size = sizeof info;
    OK(evl_cost_centres_get(list, index, &info));
    CHECK(info.size == sizeof info);
    return info;
}

/* How many cost centres there are now. */
static uint64_t listed(void) {
    evl_cost_centres list;
    uint64_t len;
    OK(evl_objects_cost_centres(&list));
    len = len_of(list);
    OK(evl_cost_centres_release(list));
    return len;
}

static void of_sample(evl_cost_centres list, uint64_t first, uint64_t object) {
    int run = 0, round = 0, hold = 0;
    uint64_t index;
    for (index = first; index < first + 3; index++) {
        evl_cost_centre_info info = at(list, index), again;
        run += strcmp(info.label, "run") == 0;
        round += strcmp(info.label, "round") == 0;
        hold += strcmp(info.label, "hold") == 0;
        CHECK(strcmp(info.module, "sample") == 0 && strcmp(info.object_name, "sample_c") == 0);
        CHECK(strstr(info.srcloc, "sample.c:") != NULL && info.flags == 0 && info.object == object);
        CHECK((info.id == 0) == (object == 0));
        if (object != 0) {
            again.size = sizeof again;
            OK(evl_cost_centres_find(list, (uint32_t)info.id, &again));
            CHECK(again.label == info.label && again.id == info.id);
        }
    }
    CHECK(run == 1 && round == 1 && hold == 1);
    CHECK(len_of(list) == first + 3);
}

static void inspected(evl_object_file file, const char *path) {
    evl_object_info info;
    evl_cost_centres list;
    info.size = sizeof info;
    OK(evl_object_file_info(file, &info));
    CHECK(strcmp(info.name, "sample_c") == 0 && strcmp(info.path, path) == 0 && strcmp(info.pins, "") == 0);
    CHECK(strstr(info.needed, "libc.so") != NULL && info.number == 0 && info.way == 1 && info.abi_major == EVL_ABI_MAJOR);
    CHECK(info.abi_minor == EVL_ABI_MINOR && info.cost_centres == 3 && info.memory_bytes > 100);
    CHECK(info.registers_itself == 0);
    OK(evl_object_file_cost_centres(file, &list));
    OK(evl_object_file_release(file));
    of_sample(list, 0, 0);
    OK(evl_cost_centres_release(list));
}

/* A file is looked into, and nothing of it loaded. */
static void files(void) {
    evl_object_file file;
    char *path = path_of("sample.so");
    size_t len;
    uint8_t *bytes = content_of("sample.so", &len);
    OK(evl_objects_inspect(path, &file));
    inspected(file, path);
    OK(evl_objects_inspect_bytes(bytes, len, &file));
    free(bytes);
    inspected(file, "");
    CHECK(listed() == 1);
    free(path);
}

/* Loaded, called, listed, unloaded, and again: another object, with other ids. */
static void life(void) {
    evl_log log = log_to(file_sink("life.eventlog"));
    evl_loaded object;
    evl_object_info info;
    evl_objects_statistics statistics;
    evl_cost_centres before, during, own;
    uint64_t number = 0, id = 0;
    uint32_t entered;
    void *variable = NULL;
    int round;

    OK(evl_objects_define(log));
    OK(evl_objects_define(log));
    OK(evl_objects_cost_centres(&before));
    CHECK(len_of(before) == 1 && strcmp(at(before, 0).label, "host") == 0);
    for (round = 0; round < 2; round++) {
        object = load("sample.so");
        info.size = sizeof info;
        OK(evl_loaded_info(object, &info));
        CHECK(strcmp(info.name, "sample_c") == 0 && info.number > number && info.cost_centres == 3);
        number = info.number;
        OK(evl_objects_cost_centres(&during));
        of_sample(during, 1, number);
        OK(evl_loaded_cost_centres(object, &own));
        of_sample(own, 0, number);
        CHECK(at(own, 0).id > id);
        id = at(own, 0).id;
        CHECK(call(object, 3) == ((0 * 3 ^ 1) * 3 ^ 2));
        OK(evl_loaded_variable(object, "evl_object_v1", &variable));
        CHECK(strcmp(((const evl_object *)variable)->name, "sample_c") == 0);
        statistics.size = sizeof statistics;
        OK(evl_objects_get_statistics(&statistics));
        CHECK(statistics.objects == 2 && statistics.cost_centres == 4 && statistics.undefined == 0);
        unmapped(object);
        /* What was listed is still there to be read. */
        of_sample(during, 1, number);
        of_sample(own, 0, number);
        OK(evl_cost_centres_release(during));
        OK(evl_cost_centres_release(own));
        CHECK(listed() == 1);
        REFUSED(EVL_ERR_ARGUMENT, "has the number", evl_stack_enter((uint32_t)id, &entered));
    }
    CHECK(len_of(before) == 1);
    OK(evl_cost_centres_release(before));
    OK(evl_drop(log));
    CHECK(count_in_file("life.eventlog", "loaded: sample_c, 3 cost centres") == 2);
    CHECK(count_in_file("life.eventlog", "unloaded: sample_c") == 2);
}

/* By the header's functions and by the id. */
static void stacks(void) {
    evl_loaded object = load("sample.so");
    evl_cost_centres list;
    uint32_t inside, again, deeper, ids[2] = {0, 0}, host, sample;
    size_t depth = 77;
    OK(evl_objects_cost_centres(&list));
    host = (uint32_t)at(list, 0).id;
    sample = (uint32_t)at(list, 1).id;
    OK(evl_cost_centres_release(list));
    OK(evl_stack_get(NULL, 0, &depth));
    CHECK(depth == 0);
    inside = evl_enter(&cc_host);
    OK(evl_stack_enter(sample, &deeper));
    OK(evl_stack_enter(sample, &again));
    OK(evl_stack_get(ids, 1, &depth));
    CHECK(depth == 2 && ids[0] == sample && ids[1] == 0);
    OK(evl_stack_get(ids, 2, &depth));
    CHECK(depth == 2 && ids[0] == sample && ids[1] == host);
    OK(evl_stack_leave(again));
    REFUSED(EVL_ERR_OBJECT_IN_USE, "cost centres", evl_loaded_unload(object, 1000000, NULL, NULL, 0));
    OK(evl_stack_leave(deeper));
    REFUSED(EVL_ERR_ARGUMENT, "2 is deeper", evl_stack_leave(again));
    evl_leave(inside);
    OK(evl_stack_get(NULL, 0, &depth));
    CHECK(depth == 0);
    unmapped(object);
}

static void *unload(void *object) {
    unmapped(*(evl_loaded *)object);
    return NULL;
}

/* Where a call is open it stays, and is as before; then it goes. */
static void in_use(void) {
    evl_loaded object = load("sample.so");
    evl_call first, second;
    pthread_t thread;
    int outcome = 7;
    OK(evl_loaded_enter(object, &first));
    OK(evl_loaded_enter(object, &second));
    REFUSED(EVL_ERR_OBJECT_IN_USE, "2 calls", evl_loaded_unload(object, 0, &outcome, NULL, 0));
    OK(evl_call_leave(first));
    REFUSED(EVL_ERR_STALE, "an open call", evl_call_leave(first));
    REFUSED(EVL_ERR_OBJECT_IN_USE, "a call to it is open", evl_loaded_unload(object, 3000000, &outcome, NULL, 0));
    CHECK(outcome == 7);
    call(object, 5);
    CHECK(listed() == 4);
    CHECK(pthread_create(&thread, NULL, unload, &object) == 0);
    OK(evl_call_leave(second));
    CHECK(pthread_join(thread, NULL) == 0);
    GIVES(EVL_ERR_STALE, evl_loaded_enter(object, &first));
    CHECK(listed() == 1);
}

/* What stays mapped says why. */
static void pinned(void) {
    evl_loaded object = load("nodelete.so");
    evl_object_info info;
    char reasons[100] = "?", few[8] = "?";
    int outcome = 7;
    trap_function *trap;
    evl_call call;

    info.size = sizeof info;
    OK(evl_loaded_info(object, &info));
    CHECK(strcmp(info.pins, "it is linked with -z nodelete") == 0);
    OK(evl_loaded_unload(object, 0, &outcome, reasons, sizeof reasons));
    CHECK(outcome == EVL_PINNED && strcmp(reasons, "it is linked with -z nodelete") == 0);
    GIVES(EVL_ERR_STALE, evl_loaded_enter(object, &call));

    object = load("trap.so");
    trap = (trap_function *)function_of(object, "trap_signal");
    OK(evl_loaded_enter(object, &call));
    CHECK(trap() == 0);
    OK(evl_call_leave(call));
    OK(evl_loaded_unload(object, 0, &outcome, few, sizeof few));
    CHECK(outcome == EVL_PINNED && strcmp(few, "the han") == 0);
    CHECK(listed() == 1);

    object = load("nodelete.so");
    OK(evl_loaded_unload(object, 0, NULL, NULL, 0));
}

/* Which keys an object makes the static library sees, and deletes them. */
static void keys(void) {
    evl_loaded object = load("key.so");
    trap_function *trap = (trap_function *)function_of(object, "trap_key");
    evl_call call;
    char reasons[100] = "?";
    char *library = path_of("libghceventlog.so.0");
    int outcome = 7, is_shared = access(library, F_OK) == 0;
    OK(evl_loaded_enter(object, &call));
    CHECK(trap() == 0);
    OK(evl_call_leave(call));
    OK(evl_loaded_unload(object, SECOND, &outcome, reasons, sizeof reasons));
    CHECK(outcome == (is_shared ? EVL_PINNED : EVL_UNMAPPED));
    CHECK(strcmp(reasons, is_shared ? "it makes thread-specific keys by pthread_key_create" : "") == 0);
    free(library);
}

/* The file itself is not loaded twice, its copy is. */
static void direct(void) {
    evl_loaded first, second, copy;
    char *path = path_of("sample.so");
    OK(evl_objects_load(path, EVL_DIRECT, &first));
    REFUSED(EVL_ERR_OBJECT_LOADED, path, evl_objects_load(path, EVL_DIRECT, &second));
    OK(evl_objects_load(path, 0, &copy));
    unmapped(first);
    OK(evl_objects_load(path, EVL_DIRECT, &second));
    unmapped(second);
    unmapped(copy);
    free(path);
}

struct held {
    evl_loaded object;
    uint32_t entered, go;
};

static void *hold(void *argument) {
    struct held *held = (struct held *)argument;
    hold_function *function = (hold_function *)function_of(held->object, "sample_hold");
    evl_call call;
    OK(evl_loaded_enter(held->object, &call));
    function(&held->entered, &held->go);
    OK(evl_call_leave(call));
    return NULL;
}

/* By time and by bytes, with an object that goes. */
static void profile(void) {
    evl_log log = log_to(file_sink("profile.eventlog"));
    evl_profiler profiler;
    evl_profiler_options options;
    evl_profiler_statistics statistics;
    evl_objects_statistics live;
    struct held held;
    pthread_t thread;
    uint32_t inside;
    char *block, *other;
    long patience = 600000;

    OK(evl_profiler_options_init(&options, sizeof options));
    CHECK(options.tick_ns == 1000000 && options.has_heap == 0 && options.heap_ns == 0);
    options.tick_ns = 100000;
    options.has_heap = 1;
    OK(evl_profiler_start(log, &options, &profiler));

    held.object = load("sample.so");
    held.entered = held.go = 0;
    CHECK(pthread_create(&thread, NULL, hold, &held) == 0);
    while (!__atomic_load_n(&held.entered, __ATOMIC_ACQUIRE)) {
        pause_for(100000);
        CHECK(--patience > 0);
    }
    statistics.size = sizeof statistics;
    do {
        pause_for(100000);
        CHECK(--patience > 0);
        OK(evl_profiler_get_statistics(profiler, &statistics));
    } while (statistics.stacks < 5);
    __atomic_store_n(&held.go, 1, __ATOMIC_RELEASE);
    CHECK(pthread_join(thread, NULL) == 0);
    unmapped(held.object);

    inside = evl_enter(&cc_host);
    block = (char *)evl_malloc(1000);
    CHECK(block != NULL && (uintptr_t)block % 16 == 0);
    memset(block, 5, 1000);
    evl_leave(inside);
    live.size = sizeof live;
    OK(evl_objects_get_statistics(&live));
    CHECK(live.live_bytes == 1016 && live.live_stacks == 1 && live.live_others == 0);
    OK(evl_profiler_sample_heap(profiler));
    other = (char *)evl_calloc(10, 10);
    CHECK(other != NULL && other[0] == 0 && other[99] == 0);
    other = (char *)evl_realloc(other, 5000);
    CHECK(other != NULL && other[99] == 0);
    OK(evl_objects_get_statistics(&live));
    CHECK(live.live_bytes == 1016 + 5016);
    evl_free(other);
    evl_free(NULL);
    CHECK(block[999] == 5);
    other = (char *)evl_realloc(NULL, 0);
    CHECK(other != NULL);
    evl_free(other);
    CHECK(evl_malloc(SIZE_MAX - 8) == NULL && evl_calloc(SIZE_MAX / 2, 3) == NULL);
    CHECK(evl_realloc(block, SIZE_MAX - 8) == NULL && block[999] == 5);
    OK(evl_profiler_stop(profiler, &statistics));
    GIVES(EVL_ERR_STALE, evl_profiler_stop(profiler, NULL));
    CHECK(statistics.stacks >= 5 && statistics.ticks > 0 && statistics.lost == 0);
    CHECK(statistics.heap_samples == 2 && statistics.heap_failures == 0);
    evl_free(block);
    OK(evl_objects_get_statistics(&live));
    CHECK(live.live_bytes == 0);

    /* One that is dropped with its log tells what is live before the end. */
    options.tick_ns = 0;
    OK(evl_profiler_start(log, &options, &profiler));
    inside = evl_enter(&cc_host);
    block = (char *)evl_malloc(2000);
    evl_leave(inside);
    OK(evl_drop(log));
    GIVES(EVL_ERR_STALE, evl_profiler_get_statistics(profiler, &statistics));
    evl_free(block);
}

/* Loads, unloads, calls, lists and a profile, all at once. */
static evl_loaded shared;
static int is_over;

static void *use_it(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        evl_loaded object;
        evl_function function;
        evl_call call;
        evl_cost_centres list;
        uint32_t entered;
        int code;
        object.id = __atomic_load_n(&shared.id, __ATOMIC_ACQUIRE);
        OK(evl_objects_cost_centres(&list));
        if (len_of(list) > 1) {
            code = evl_stack_enter((uint32_t)at(list, 1).id, &entered);
            CHECK(code == EVL_OK || code == EVL_ERR_ARGUMENT);
            if (code == EVL_OK) OK(evl_stack_leave(entered));
        }
        OK(evl_cost_centres_release(list));
        code = evl_loaded_enter(object, &call);
        CHECK(code == EVL_OK || code == EVL_ERR_STALE || code == EVL_ERR_OBJECT_UNLOADED);
        if (code == EVL_OK) {
            code = evl_loaded_function(object, "sample_run", &function);
            CHECK(code == EVL_OK || code == EVL_ERR_OBJECT_UNLOADED);
            if (code == EVL_OK) ((run_function *)function)(10);
            OK(evl_call_leave(call));
        }
        pause_for(1000);
    }
    return NULL;
}

static void together(void) {
    evl_log log = log_to(file_sink("together.eventlog"));
    evl_profiler profiler;
    evl_profiler_statistics statistics;
    pthread_t threads[2];
    int number;
    OK(evl_profiler_start(log, NULL, &profiler));
    shared = load("sample.so");
    for (number = 0; number < 2; number++) CHECK(pthread_create(&threads[number], NULL, use_it, NULL) == 0);
    for (number = 0; number < rounds_; number++) {
        evl_loaded next = load("sample.so"), before = shared;
        int code;
        __atomic_store_n(&shared.id, next.id, __ATOMIC_RELEASE);
        while ((code = evl_loaded_unload(before, SECOND / 100, NULL, NULL, 0)) != EVL_OK) CHECK(code == EVL_ERR_OBJECT_IN_USE);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    for (number = 0; number < 2; number++) CHECK(pthread_join(threads[number], NULL) == 0);
    unmapped(shared);
    statistics.size = sizeof statistics;
    OK(evl_profiler_stop(profiler, &statistics));
    CHECK(statistics.lost == 0);
    OK(evl_drop(log));
    CHECK(listed() == 1);
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    files();
    life();
    stacks();
    in_use();
    pinned();
    keys();
    direct();
    profile();
    together();
    return 0;
}
