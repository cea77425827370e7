#!/usr/bin/env bash
# Profiled objects: the C header in both languages, the tests with as many cycles as are promised, in the release profile, and the hot
# reload of an object whose source is edited while the host runs.
. "$(dirname "$0")/setup.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict=(-Wall -Wextra -Werror -pedantic -fPIC -shared -I eventlog/object/include)

cat >"$work/both.c" <<'END'
#include "eventlog_object.h"
EVL_SCC_DECL(cc_work, "work", "both");
static int32_t init(void) { return 0; }
static void fini(void) {}
EVL_OBJECT("both", init, fini);
EVL_SELF_REGISTER();
#ifdef __cplusplus
extern "C"
#endif
uint32_t work(void);
uint32_t work(void)
{
    uint32_t entered = evl_enter(&cc_work);
    evl_leave(entered);
    return entered;
}
END
cp "$work/both.c" "$work/both.cc"
step "the header in C99" cc -std=c99 "${strict[@]}" "$work/both.c" -o "$work/both-c.so"
step "the header in C++17" c++ -std=c++17 "${strict[@]}" "$work/both.cc" -o "$work/both-cc.so"
step "the sample in C99" cc -std=c99 -D_POSIX_C_SOURCE=200809L "${strict[@]}" eventlog/object/sample/sample.c -o "$work/sample.so"
step "eventlog objects" cargo run --quiet -p eventlog-cli -- objects "$work"/*.so

step "tests, with 1,000 cycles" env OBJECTS_CYCLES=1000 OBJECTS_ROUNDS=300 \
    cargo test --release -p ghc-eventlog-object -p objects-host -p trap-object -- --nocapture

# The commands in hot_reload's documentation, on a copy of the sample that is edited meanwhile.
reloaded() {
    local sample=eventlog/object/sample/src/lib.rs object=$work/objects/debug/libsample_object.so log=$work/reload.eventlog
    mkdir "$work/copy"
    git ls-files -z | tar --null --create --files-from=- | tar --extract --directory="$work/copy"
    build() { (cd "$work/copy" && cargo build --quiet -p sample-object --target-dir "$work/objects"); }
    build
    cargo build --quiet --release -p objects-host --bin hot_reload
    "$TARGET/release/hot_reload" "$object" "$log" 15 >"$work/said" &
    sed -i 's/scc!("round")/scc!("edited round")/' "$work/copy/$sample"
    build
    wait $! || die "hot_reload failed: $(cat "$work/said")"
    cat "$work/said"
    for line in 'generation 1: .*round' 'generation 2: .*edited round' 'generation 1: unmapped' 'the last generation: unmapped' \
        '[0-9]* events, 0 lost'; do
        grep -qx "$line.*" "$work/said" || die "not said: $line"
    done
    cargo run --quiet -p eventlog-cli -- check "$log"
    cargo run --quiet -p eventlog-cli -- stats "$log" >"$work/stats"
    for label in 'round' 'edited round'; do
        grep -q "^  $label  *sample_object " "$work/stats" || die "no sample of the cost centre $label: $(cat "$work/stats")"
    done
}
step "hot reload" reloaded
