/* An object that calls the program back from within a cost centre. */
#include "eventlog_object.h"

EVL_SCC_DECL(cc_work, "work", "calls_back");
EVL_OBJECT("calls_back", 0, 0);

__attribute__((visibility("default"))) void call_back(void (*back)(void));

void call_back(void (*back)(void))
{
    uint32_t work = evl_enter(&cc_work);
    back();
    evl_leave(work);
}
