/* A profiled object in C. src/lib.rs beside it is the same in Rust.
 *
 *     cc -O2 -fPIC -shared -I eventlog/object/include eventlog/object/sample/sample.c -o sample.so
 *     cargo run --bin eventlog -- objects sample.so
 */
#include "eventlog_object.h"
#include <sched.h>

#define EXPORT __attribute__((visibility("default")))

static uint32_t started;

static int32_t start(void)
{
    started = 1;
    return 0;
}

static void stop(void)
{
    started = 0;
}

EVL_SCC_DECL(cc_run, "run", "sample");
EVL_SCC_DECL(cc_round, "round", "sample");
EVL_SCC_DECL(cc_hold, "hold", "sample");
EVL_OBJECT("sample_c", start, stop);

EXPORT uint32_t sample_version(void);
EXPORT uint64_t sample_run(uint64_t rounds);
EXPORT void sample_hold(uint32_t *entered, const uint32_t *go);

/* Which build of the object this is. */
uint32_t sample_version(void)
{
    return started;
}

/* Works for a while: so many rounds, each of them in a cost centre of its own. */
uint64_t sample_run(uint64_t rounds)
{
    uint32_t run = evl_enter(&cc_run);
    uint64_t sum = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        uint32_t in_round = evl_enter(&cc_round);
        sum = sum * 3 ^ round;
        evl_leave(in_round);
    }
    evl_leave(run);
    return sum;
}

/* Stays in a cost centre until *go is set; sets *entered when it is there. */
void sample_hold(uint32_t *entered, const uint32_t *go)
{
    uint32_t hold = evl_enter(&cc_hold);
    __atomic_store_n(entered, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(go, __ATOMIC_ACQUIRE))
        sched_yield();
    evl_leave(hold);
}
