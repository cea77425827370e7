/* An object that is to be refused: if any code of it ever runs, the process dies. */
#include "eventlog_object.h"

EVL_SCC_DECL(cc_work, "work", "bad");

#ifdef OWN_TABLE
/* The note says what it should, the table something else. */
__attribute__((section(".note.evl"), used, aligned(4))) static const struct evl_note note = {
    4, sizeof(struct evl_note) - 16, 0x45564c31u, "EVL", EVL_ABI_MAJOR, EVL_ABI_MINOR, EVL_WAY,
    sizeof(evl_cost_centre), sizeof(evl_object), (uint32_t)EVL_FINGERPRINT, (uint32_t)(EVL_FINGERPRINT >> 32)};
static const evl_host *slot;
static const evl_cost_centre elsewhere[2];
const evl_object evl_object_v1 = {OWN_TABLE};
__attribute__((used)) static const void *const all[] = {&slot, elsewhere};
#elif defined(NO_TABLE)
/* The note, and no table that could be found. */
__attribute__((section(".note.evl"), used, aligned(4))) static const struct evl_note note = {
    4, sizeof(struct evl_note) - 16, 0x45564c31u, "EVL", EVL_ABI_MAJOR, EVL_ABI_MINOR, EVL_WAY,
    sizeof(evl_cost_centre), sizeof(evl_object), (uint32_t)EVL_FINGERPRINT, (uint32_t)(EVL_FINGERPRINT >> 32)};
#elif !defined(NO_OBJECT)
EVL_OBJECT("bad", 0, 0);
#endif

#ifdef MISSING
extern const uint8_t MISSING;
__attribute__((used)) static const uint8_t *const missing = &MISSING;
#endif

#ifndef HARMLESS
__attribute__((constructor)) static void constructor(void)
{
    __builtin_trap();
}
#endif

#if defined(IFUNC) || defined(LOCAL_IFUNC)
typedef int resolved_type(void);
static resolved_type *resolver(void)
{
    __builtin_trap();
}
#ifdef IFUNC
__attribute__((visibility("default")))
#else
static
#endif
int resolved(void) __attribute__((ifunc("resolver")));
__attribute__((used)) static int (*const pointer)(void) = resolved;
#endif
