/* An object whose init and fini call the program that has loaded it. */
#include "eventlog_object.h"

extern int32_t evl_test_init(void);
extern void evl_test_fini(void);

static int32_t init(void)
{
    return evl_test_init();
}

static void fini(void)
{
    evl_test_fini();
}

EVL_SCC_DECL(cc_work, "work", "calls_init");
EVL_OBJECT("calls_init", init, fini);
