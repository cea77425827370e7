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
    step "fuzz $t" cargo +nightly fuzz run "$t" "${corpus[@]}" -- \
        -max_total_time="${FUZZ_SECONDS:-45}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
done
