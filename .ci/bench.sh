#!/usr/bin/env bash
# Benches must build; a shared machine can't judge their numbers.
. "$(dirname "$0")/setup.sh"

# Building is all that counts here, so it need not take the minutes that optimising does.
CARGO_PROFILE_BENCH_LTO=off CARGO_PROFILE_BENCH_CODEGEN_UNITS=16 CARGO_PROFILE_BENCH_OPT_LEVEL=0 CARGO_PROFILE_BENCH_DEBUG=0 \
    cargo bench --workspace --features benches/compare,benches/latency,benches/objects --no-run
