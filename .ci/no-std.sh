#!/usr/bin/env bash
# Builds chunkring into a library that brings its own panic handler: if anything below links std, there are two and
# the compiler refuses.
. "$(dirname "$0")/setup.sh"

CARGO_TARGET_DIR=$TARGET/no-std cargo build --manifest-path .ci/no-std/Cargo.toml
