/* The shared library is opened while the program runs, as an interpreter does it: threads that have been there before enter
 * cost centres like those that come later. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "eventlog.h"
#include "eventlog_object.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                                       \
    do {                                                                                                                  \
        if (!(what)) {                                                                                                    \
            const char *error = dlerror();                                                                                \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, error ? error : "no error");           \
            exit(1);                                                                                                      \
        }                                                                                                                 \
    } while (0)

/* What objects of this way want of their host, which is the library, and this program is not linked with it. */
const uint8_t evl_way_prof_abi1 = 1;

EVL_SCC_DECL(cc_outer, "outer", "opened");
EVL_SCC_DECL(cc_inner, "inner", "opened");
EVL_OBJECT("opened", 0, 0);

enum { EARLY = 4, LATE = 4, ROUNDS = 2000 };

typedef uint32_t attach_function(const evl_object *);
typedef int get_function(uint32_t *ids, size_t len, size_t *depth);

static attach_function *attach;
static get_function *get;
static pthread_barrier_t opened;

static void open_library(const char *directory) {
    char path[4096];
    void *library;
    CHECK(snprintf(path, sizeof path, "%s/libghceventlog.so.0", directory) < (int)sizeof path);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    *(void **)&attach = dlsym(library, "evl_object_attach");
    *(void **)&get = dlsym(library, "evl_stack_get");
    CHECK(attach != NULL && get != NULL);
}

static size_t depth_here(void) {
    uint32_t ids[4];
    size_t depth = 99;
    CHECK(get(ids, 4, &depth) == EVL_OK);
    if (depth == 2) CHECK(ids[0] == cc_inner.id && ids[1] == cc_outer.id);
    return depth;
}

static void *work(void *is_early) {
    int round;
    if (is_early != NULL) pthread_barrier_wait(&opened);
    CHECK(depth_here() == 0);
    for (round = 0; round < ROUNDS; round++) {
        uint32_t outer = evl_enter(&cc_outer), inner = evl_enter(&cc_inner);
        CHECK(outer == 0 && inner == 1 && depth_here() == 2);
        evl_leave(inner);
        CHECK(depth_here() == 1);
        evl_leave(outer);
        CHECK(depth_here() == 0);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[EARLY + LATE];
    int i;
    CHECK(argc > 1);
    CHECK(pthread_barrier_init(&opened, NULL, EARLY + 1) == 0);
    for (i = 0; i < EARLY; i++) CHECK(pthread_create(&threads[i], NULL, work, &opened) == 0);
    open_library(argv[1]);
    CHECK(attach(&evl_object_v1) != 0 && cc_outer.id != 0);
    pthread_barrier_wait(&opened);
    for (i = EARLY; i < EARLY + LATE; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (i = 0; i < EARLY + LATE; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
