/* A child that is forked has no objects, and waits for no thread of its parent's. */
#include "check.h"

#include <sys/wait.h>

static void children(void) {
    evl_log log = log_to(null_sink());
    evl_loaded object;
    evl_profiler profiler;
    evl_profiler_options options;
    evl_call call;
    int round;
    char *path = path_of("sample.so");
    OK(evl_objects_load(path, 0, &object));
    free(path);
    OK(evl_profiler_options_init(&options, sizeof options));
    options.tick_ns = 50000;
    OK(evl_profiler_start(log, &options, &profiler));
    OK(evl_loaded_enter(object, &call));
    for (round = 0; round < rounds_; round++) {
        int status = -1;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            evl_object_file file;
            evl_loaded other;
            evl_cost_centres list;
            uint32_t entered;
            GIVES(EVL_ERR_FORKED, evl_call_leave(call));
            GIVES(EVL_ERR_FORKED, evl_loaded_unload(object, 0, NULL, NULL, 0));
            GIVES(EVL_ERR_FORKED, evl_profiler_stop(profiler, NULL));
            REFUSED(EVL_ERR_FORKED, "objects are of the process", evl_objects_cost_centres(&list));
            GIVES(EVL_ERR_FORKED, evl_objects_load("x", 0, &other));
            GIVES(EVL_ERR_FORKED, evl_objects_inspect("x", &file));
            GIVES(EVL_ERR_FORKED, evl_stack_enter(1, &entered));
            log = log_to(null_sink());
            GIVES(EVL_ERR_FORKED, evl_objects_define(log));
            GIVES(EVL_ERR_FORKED, evl_profiler_start(log, NULL, &profiler));
            OK(evl_drop(log));
            exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    OK(evl_call_leave(call));
    OK(evl_profiler_stop(profiler, NULL));
    OK(evl_loaded_unload(object, 0, NULL, NULL, 0));
    OK(evl_drop(log));
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    children();
    return 0;
}
