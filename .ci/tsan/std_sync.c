/* Teaches ThreadSanitizer what the prebuilt std does where it was not compiled for it.
 *
 * The fast paths of std's locks are inlined into our code and so are seen. The slow paths are inside the prebuilt
 * library: a thread that waited there has acquired the lock, but TSan does not know, and would report a race on
 * whatever the lock guards. A suppression would have to name the guarded data, that is, hide races of our own; each
 * wrapper here adds exactly the one edge that its function promises. The linker (--wrap) puts them in between; the
 * names come from tsan.sh, since they hold a hash of the compiler.
 *
 * All arguments and results are word-sized scalars, for which Rust's calling convention is C's on this target.
 */
#include <stdint.h>

typedef uintptr_t W;

extern void __tsan_acquire(void *);
extern void __tsan_release(void *);

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define REAL(f) CAT(__real_, f)
#define WRAP(f) CAT(__wrap_, f)

#define ACQUIRES(f)                    \
    extern W REAL(f)(W);               \
    W WRAP(f)(W lock) {                \
        W r = REAL(f)(lock);           \
        __tsan_acquire((void *)lock);  \
        return r;                      \
    }

ACQUIRES(MUTEX_LOCK)
ACQUIRES(RWLOCK_READ)
ACQUIRES(RWLOCK_WRITE)

/* A wait gives the mutex up and takes it again, both out of sight. */
extern W REAL(CONDVAR_WAIT)(W, W);
W WRAP(CONDVAR_WAIT)(W condvar, W mutex) {
    __tsan_release((void *)mutex);
    W r = REAL(CONDVAR_WAIT)(condvar, mutex);
    __tsan_acquire((void *)mutex);
    return r;
}

extern W REAL(CONDVAR_WAIT_TIMEOUT)(W, W, W, W);
W WRAP(CONDVAR_WAIT_TIMEOUT)(W condvar, W mutex, W secs, W nanos) {
    __tsan_release((void *)mutex);
    W r = REAL(CONDVAR_WAIT_TIMEOUT)(condvar, mutex, secs, nanos);
    __tsan_acquire((void *)mutex);
    return r;
}

/* A Once's closure publishes what it wrote when the closure is over, and before std says so to others. So std gets a
 * closure that calls the real one: the words of its vtable are drop, size, align, call_once and call_mut. */
enum { CALL_MUT = 4, VTABLE_WORDS };
struct once_closure { W data, call_mut, once; };

static void run_once(struct once_closure *closure, W state) {
    ((void (*)(W, W))closure->call_mut)(closure->data, state);
    __tsan_release((void *)closure->once);
}

extern void REAL(ONCE_CALL)(W, W, struct once_closure *, W *, W);
void WRAP(ONCE_CALL)(W once, W ignore_poison, W data, const W *vtable, W location) {
    W words[VTABLE_WORDS];
    for (int i = 0; i < VTABLE_WORDS; i++)
        words[i] = vtable[i];
    struct once_closure closure = {data, vtable[CALL_MUT], once};
    words[CALL_MUT] = (W)run_once;
    REAL(ONCE_CALL)(once, ignore_poison, &closure, words, location);
    __tsan_acquire((void *)once);
}

/* A scoped thread's last act is to count itself down in ScopeData, which the scope then reads inline. The count is the
 * first or the second word there, as the compiler pleases. */
extern W REAL(SCOPE_COUNT_DOWN)(W, W);
W WRAP(SCOPE_COUNT_DOWN)(W scope, W panicked) {
    __tsan_release((void *)scope);
    __tsan_release((void *)(scope + sizeof(W)));
    return REAL(SCOPE_COUNT_DOWN)(scope, panicked);
}

/* TSan does not model fences. Arc's last reference relies on one: fetch_sub(1, Release), then fence(Acquire). So an
 * acquire fence acquires the word that this thread counted down last, and nothing else. */
static __thread void *counted_down;

#define COUNTS_DOWN(bits)                                                        \
    extern uint##bits##_t CAT(__real___tsan_atomic, CAT(bits, _fetch_sub))(      \
        volatile void *, uint##bits##_t, int);                                   \
    uint##bits##_t CAT(__wrap___tsan_atomic, CAT(bits, _fetch_sub))(             \
        volatile void *word, uint##bits##_t n, int order) {                      \
        counted_down = (void *)word;                                             \
        return CAT(__real___tsan_atomic, CAT(bits, _fetch_sub))(word, n, order); \
    }

COUNTS_DOWN(32)
COUNTS_DOWN(64)

extern void __real___tsan_atomic_thread_fence(int);
void __wrap___tsan_atomic_thread_fence(int order) {
    __real___tsan_atomic_thread_fence(order);
    if (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE && counted_down) {
        __tsan_acquire(counted_down);
        counted_down = 0;
    }
}
