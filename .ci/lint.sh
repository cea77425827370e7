#!/usr/bin/env bash
# Formatting, lints, the docs' links, and these scripts themselves.
. "$(dirname "$0")/setup.sh"

# The tests that a README names, as `module::name` or `module::`, are there.
named_tests() {
    local known missing
    known=$({
        grep -rohE --include='*.rs' --exclude-dir=target '\b(fn|mod) [a-z_0-9]+' . | cut -d' ' -f2
        find . -name target -prune -o -name '*.rs' -printf '%f\n' | sed 's/\.rs$//'
        find . -name target -prune -o -type d -printf '%f\n'
    } | sort -u)
    # shellcheck disable=SC2016 # The backticks are Markdown's.
    missing=$(grep -rhE --include=README.md --exclude-dir=target '^\|' . | grep -ohE '`[a-z_0-9]+::([a-z_0-9]+)?`' |
        tr -d '`' | sed 's/::/\n/' | grep . | sort -u | comm -23 - <(echo "$known"))
    [ -z "$missing" ] || die "READMEs name what is not there: $missing"
}

step "shellcheck" shellcheck -x -P SCRIPTDIR .ci/run .ci/*.sh eventlog/capi/install.sh
step "cargo fmt" cargo fmt --all --check
step "rustfmt of .ci" rustfmt --check --edition 2024 .ci/canaries/*.rs .ci/no-std/src/lib.rs
step "named tests" named_tests
step "clippy" cargo clippy --workspace --all-targets --all-features -- -D warnings
step "clippy: chunkring without its features" cargo clippy -p chunkring --no-default-features -- -D warnings
# chunkring's own tests run on real threads, so only its library is built for loom.
step "clippy under loom: chunkring" \
    env RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="$TARGET/loom" cargo clippy -p chunkring --lib -- -D warnings
step "clippy under loom: loom-tests" \
    env RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="$TARGET/loom" cargo clippy -p loom-tests --all-targets -- -D warnings
step "rustdoc" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features
