/* An object in C with what can keep it mapped, or make its unloading a crash. */
#include "eventlog_object.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static uint32_t *told;
static void fini(void)
{
    if (told)
        *told += 1;
}

#ifndef INIT
#define INIT 0
#endif
static int32_t init(void)
{
    return INIT;
}

EVL_SCC_DECL(cc_work, "work", "trap");
EVL_OBJECT("trap_c", init, fini);

#ifdef SELF_REGISTER
EVL_SELF_REGISTER();
#endif

#ifdef UNIQUE
/* As C++ has it for a static variable of an inline function. */
__asm__(".pushsection .data\n"
        ".globl unique_counter\n"
        ".type unique_counter, %gnu_unique_object\n"
        ".size unique_counter, 4\n"
        "unique_counter: .long 1\n"
        ".popsection");
extern EXPORT int unique_counter;
EXPORT int *unique_pointer = &unique_counter;
#endif

#ifdef DESTRUCTOR
__attribute__((destructor)) static void destructor(void)
{
    if (told)
        *told += 100;
}
#endif

EXPORT uint64_t sample_run(uint64_t rounds);
EXPORT uint64_t trap_nothing(void);
EXPORT uint64_t trap_signal(void);
EXPORT uint64_t trap_atexit(void);
EXPORT uint64_t trap_tell(uint32_t *where);
EXPORT uint64_t trap_stay(void);
EXPORT uint64_t trap_leave(void);

uint64_t sample_run(uint64_t rounds)
{
    evl_leave(evl_enter(&cc_work));
    return rounds;
}

uint64_t trap_nothing(void)
{
    return 1;
}

static void handler(int number)
{
    (void)number;
}

/* Leaves a signal handler behind. */
uint64_t trap_signal(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    return (uint64_t)sigaction(SIGUSR1, &action, 0);
}

static void at_exit(void)
{
    if (told)
        *told += 10;
}

/* Has a function called when the process exits, or the object is unmapped. */
uint64_t trap_atexit(void)
{
    return (uint64_t)atexit(at_exit);
}

/* Where fini, the function above and a destructor tell that they have run: 1, 10 and 100. */
uint64_t trap_tell(uint32_t *where)
{
    told = where;
    return 0;
}

#ifdef KEY
#include <pthread.h>
#include <threads.h>

static void key_destructor(void *value)
{
    (void)value;
    sample_run(1);
}

EXPORT uint64_t trap_key(void);
/* Has a function called when the calling thread ends. */
uint64_t trap_key(void)
{
    KEY;
    return (uint64_t)pthread_setspecific(key, &told);
}
#endif

static uint32_t entered;

#ifdef EARLY
/* Before the constructor that registers the object: without a host. */
__attribute__((constructor(101))) static void early(void)
{
    entered = evl_enter(&cc_work);
}
#endif

/* Enters a cost centre, and does not leave it. */
uint64_t trap_stay(void)
{
    entered = evl_enter(&cc_work);
    return entered;
}

uint64_t trap_leave(void)
{
    evl_leave(entered);
    return 0;
}
