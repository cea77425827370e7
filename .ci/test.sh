#!/usr/bin/env bash
# The README's test command, with the independent checker at hand, then that checker on every log the tests wrote.
. "$(dirname "$0")/setup.sh"

grep -qE '^(\$ )?cargo test --workspace$' README.md || die "README.md must give the line: cargo test --workspace"

step "build elv" bash .ci/elv.sh
rm -rf "$TARGET/elv-logs"
mkdir -p "$TARGET/elv-logs"
step "cargo test --workspace" \
    env ELV="$TARGET/elv/elv" ELV_REQUIRED=1 ELV_LOGS="$TARGET/elv-logs" cargo test --workspace
step "chunkring with every feature" cargo test -p chunkring --all-features --tests
step "examples of chunkring with every feature" cargo test -p chunkring --all-features --doc
step "the layer for tracing" \
    env ELV_LOGS="$TARGET/elv-logs" cargo test -p ghc-eventlog --features tracing --test trace_layer --example tracing_layer
step "examples of the layer" cargo test -p ghc-eventlog --features tracing --doc trace::layer
step "profiles" \
    env ELV_LOGS="$TARGET/elv-logs" cargo test -p ghc-eventlog --features objects --lib --test profiler --example profiled
step "examples of profiles" cargo test -p ghc-eventlog --features objects --doc objects::
step "logs of the tests" env THREADS_REQUIRED=1 bash .ci/logs.sh "$TARGET/elv-logs"
