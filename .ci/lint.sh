#!/usr/bin/env bash
# Formatting, lints, the docs' links, and these scripts themselves.
. "$(dirname "$0")/setup.sh"

step "shellcheck" shellcheck -x -P SCRIPTDIR .ci/run .ci/*.sh eventlog/capi/install.sh
step "cargo fmt" cargo fmt --all --check
step "rustfmt of .ci" rustfmt --check --edition 2024 .ci/canaries/*.rs .ci/no-std/src/lib.rs
step "clippy" cargo clippy --workspace --all-targets --all-features -- -D warnings
step "clippy: chunkring without its features" cargo clippy -p chunkring --no-default-features -- -D warnings
# chunkring's own tests run on real threads, so only its library is built for loom.
step "clippy under loom: chunkring" \
    env RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="$TARGET/loom" cargo clippy -p chunkring --lib -- -D warnings
step "clippy under loom: loom-tests" \
    env RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="$TARGET/loom" cargo clippy -p loom-tests --all-targets -- -D warnings
step "rustdoc" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features
