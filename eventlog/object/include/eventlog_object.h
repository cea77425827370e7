/* eventlog_object.h: what a shared object in C or C++ needs so that a program with an event log can load it, profile it
 * and unload it again. C99 or C++17, with a compiler that has GNU attributes (GCC, Clang), on ELF.
 *
 *     #include "eventlog_object.h"
 *
 *     EVL_SCC_DECL(cc_greet, "greet", "greeter");
 *     EVL_OBJECT("greeter", 0, 0);
 *
 *     void greet(void)
 *     {
 *         uint32_t entered = evl_enter(&cc_greet);
 *         puts("hello");
 *         evl_leave(entered);
 *     }
 *
 * EVL_OBJECT stands in one file of the object, EVL_SCC_DECL in any. Without a host, entering and leaving do nothing.
 * The contract of an object is that of the Rust package ghc-eventlog-object, whose tables these are. */
#ifndef EVENTLOG_OBJECT_H
#define EVENTLOG_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the tables below: a host loads objects of its own major number, and of its own minor number or an earlier one. */
#ifndef EVL_ABI_MAJOR
#define EVL_ABI_MAJOR 1
#endif
#ifndef EVL_ABI_MINOR
#define EVL_ABI_MINOR 0
#endif

/* The way in which the object is built: 1 with cost centres, 0 without. Hosts load the first only. */
#ifndef EVL_WAY
#define EVL_WAY 1u
#endif

/* Of the text in layout.txt, which says how the tables below are laid out. */
#ifndef EVL_FINGERPRINT
#define EVL_FINGERPRINT UINT64_C(0xdd802c6d2b6fb51f)
#endif

/* A flag of a cost centre: it stands for a constant that is evaluated once. */
#define EVL_CAF 1u

/* A cost centre: a named place in the code. Made by EVL_SCC_DECL. */
typedef struct evl_cost_centre {
    uint32_t id; /* 0 until the host has numbered it */
    uint32_t flags;
    const char *label;
    const char *module;
    const char *srcloc;
} evl_cost_centre;

/* What a host does for an object. */
typedef struct evl_host {
    uint32_t size;
    uint32_t abi;
    uint32_t (*enter)(const evl_cost_centre *);
    void (*leave)(uint32_t entered);
} evl_host;

/* What an object exports as evl_object_v1. Made by EVL_OBJECT. */
typedef struct evl_object {
    uint32_t size;
    uint32_t abi;
    const char *name;
    const evl_cost_centre *begin;
    const evl_cost_centre *end;
    const evl_host **host;
    int32_t (*init)(void);
    void (*fini)(void);
} evl_object;

/* What a host reads of an object before any code of it runs. Made by EVL_OBJECT. */
struct evl_note {
    uint32_t name_size;
    uint32_t content_size;
    uint32_t kind;
    char name[4];
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t way;
    uint32_t cost_centre_size;
    uint32_t object_size;
    uint32_t fingerprint_low;
    uint32_t fingerprint_high;
};

/* One for each object, however many files it has. */
extern const evl_host *evl_host__ __attribute__((visibility("hidden")));
/* Declared first, since a constant of C++ is otherwise its file's own. */
extern const evl_object evl_object_v1 __attribute__((visibility("default")));

/* What a host exports. */
extern const uint8_t evl_way_prof_abi1;
extern uint32_t evl_object_attach(const evl_object *);
extern void evl_object_detach(const evl_object *);

/* The linker's, for the section of that name; null where there is none. */
extern const evl_cost_centre __start_evl_cc[] __attribute__((weak, visibility("hidden")));
extern const evl_cost_centre __stop_evl_cc[] __attribute__((weak, visibility("hidden")));

#define EVL_STRING2__(text) #text
#define EVL_STRING__(text) EVL_STRING2__(text)

/* Declares a cost centre of this file: EVL_SCC_DECL(cc_parse, "parse", "my_module"); */
#define EVL_SCC_DECL(identifier, label_text, module_text)                                          \
    static evl_cost_centre identifier __attribute__((section("evl_cc"), used, aligned(8))) = {     \
        0, 0, label_text, module_text, __FILE__ ":" EVL_STRING__(__LINE__)}

/* Declares the object: EVL_OBJECT("my_object", my_init, my_fini); either function may be 0. `int32_t my_init(void)` is
 * called once the object is loaded and its cost centres are numbered; what is not 0 has it unloaded again. `void
 * my_fini(void)` is called before it is unloaded, after its last call: what the object has started elsewhere ends there. */
#define EVL_OBJECT(name_text, init_function, fini_function)                                        \
    __attribute__((section(".note.evl"), used, aligned(4))) static const struct evl_note           \
        evl_note__ = {4,                                                                           \
                      sizeof(struct evl_note) - 16,                                                \
                      0x45564c31u,                                                                 \
                      "EVL",                                                                       \
                      EVL_ABI_MAJOR,                                                               \
                      EVL_ABI_MINOR,                                                               \
                      EVL_WAY,                                                                     \
                      sizeof(evl_cost_centre),                                                     \
                      sizeof(evl_object),                                                          \
                      (uint32_t)((EVL_FINGERPRINT) & 0xffffffffu),                                 \
                      (uint32_t)((EVL_FINGERPRINT) >> 32)};                                        \
    __attribute__((used)) static const uint8_t *const evl_require__ = &evl_way_prof_abi1;          \
    const evl_host *evl_host__ = 0;                                                                \
    const evl_object evl_object_v1 = {sizeof(evl_object), EVL_ABI_MAJOR, name_text,                \
                                      __start_evl_cc,     __stop_evl_cc, &evl_host__,              \
                                      init_function,      fini_function}

/* For an object that no loader loads, since it is linked into the program or opened by an ordinary dlopen: it registers
 * itself. Under a loader this does nothing. Stands behind EVL_OBJECT.
 *
 * It does so within dlopen and dlclose, which hold the dynamic linker's lock, and may wait for whoever changes or samples the
 * list of cost centres, and for sinks of logs that define them. None of these may call dlopen, dlclose or dlsym, nor wait for
 * a thread that does: each would wait for the other for ever. */
#define EVL_SELF_REGISTER()                                                                        \
    /* By its own name another object's table could be found. */                                   \
    extern const evl_object evl_object_own__                                                       \
        __attribute__((alias("evl_object_v1"), visibility("hidden")));                             \
    __attribute__((constructor)) static void evl_attach__(void)                                    \
    {                                                                                              \
        (void)evl_object_attach(&evl_object_own__);                                                \
    }                                                                                              \
    __attribute__((destructor)) static void evl_detach__(void)                                     \
    {                                                                                              \
        evl_object_detach(&evl_object_own__);                                                      \
    }                                                                                              \
    struct evl_semicolon__

/* Enters a cost centre on this thread. What it returns goes to evl_leave, on the same thread. */
static inline uint32_t evl_enter(const evl_cost_centre *cost_centre)
{
    /* Pairs with the host's release store. */
    const evl_host *host = __atomic_load_n(&evl_host__, __ATOMIC_ACQUIRE);
    /* What leaves nothing, though a host should come before evl_leave. */
    return host ? host->enter(cost_centre) : UINT32_MAX;
}

/* Leaves the cost centre for which evl_enter has returned that, and whatever was entered since. */
static inline void evl_leave(uint32_t entered)
{
    const evl_host *host = __atomic_load_n(&evl_host__, __ATOMIC_ACQUIRE);
    if (host)
        host->leave(entered);
}

#ifdef __cplusplus
}
#endif

#endif
