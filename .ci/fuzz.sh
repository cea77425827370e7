#!/usr/bin/env bash
# Every fuzz target for FUZZ_SECONDS each, from the seeds in fuzz/seeds/TARGET if there are any.
. "$(dirname "$0")/setup.sh"

[ -f fuzz/Cargo.toml ] || die "fuzz/Cargo.toml is missing"
export CARGO_TARGET_DIR=$TARGET/fuzz
targets=$(cargo +nightly fuzz list)
[ -n "$targets" ] || die "fuzz/ has no target"
for t in $targets; do
    corpus=("$TARGET/fuzz/corpus/$t")
    mkdir -p "${corpus[@]}"
    [ -d "fuzz/seeds/$t" ] && corpus+=("fuzz/seeds/$t")
    # Objects are not kept here but built.
    if [ "$t" = inspect ]; then
        for way in "-g0" "-s" "-DEVL_WAY=0u" "-DEVL_ABI_MAJOR=7" "-Wl,-z,pack-relative-relocs" "-Wl,-z,nodelete,--hash-style=sysv"; do
            cc -O1 -fPIC -shared -I eventlog/object/include "$way" eventlog/object/sample/sample.c \
                -o "${corpus[0]}/sample$way.so"
        done
    fi
    step "fuzz $t" cargo +nightly fuzz run "$t" "${corpus[@]}" -- \
        -max_total_time="${FUZZ_SECONDS:-30}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
done
