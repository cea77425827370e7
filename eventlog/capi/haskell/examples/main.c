/* A program's `main` that gives the run-time system the library's writer: for ghc -no-hs-main, with any run-time system,
 * static or shared. */
#include "Rts.h"
#include "eventlog.h"

extern StgClosure ZCMain_main_closure;

int main(int argc, char *argv[]) {
    RtsConfig config = defaultRtsConfig;
    config.rts_opts_enabled = RtsOptsAll;
    config.rts_hs_main = true;
    config.eventlog_writer = (const EventLogWriter *)&evl_ghc_writer;
    return hs_main(argc, argv, &ZCMain_main_closure, config);
}
