#!/usr/bin/env bash
# Runs chunkring's tests with addresses of 32 bits, and builds it for targets without an operating system: one with atomic
# words of 32 bits at most, where the ring for several producers is left out.
. "$(dirname "$0")/setup.sh"

skip() {
    printf '\n*** OTHER TARGETS WERE NOT CHECKED: %s ***\n\n' "$*"
    exit 0
}

bare=(thumbv7em-none-eabihf riscv32imac-unknown-none-elf)
have() { rustup target list --installed 2>/dev/null | grep -qx "$1"; }
for target in "${bare[@]}" i686-unknown-linux-gnu; do
    have "$target" || timeout 120 rustup target add "$target" || skip "rustup has no standard library for $target here"
done

export CARGO_TARGET_DIR=$TARGET/targets
for target in "${bare[@]}"; do
    step "chunkring for $target" cargo clippy --locked -p chunkring --target "$target" -- -D warnings
done

if ! echo 'int main(void) { return 0; }' | cc -m32 -x c -o /dev/null - 2>/dev/null; then
    skip "the linker makes no programs with addresses of 32 bits (gcc-multilib)"
fi
step "chunkring's tests for i686" cargo test --locked -p chunkring --all-features --target i686-unknown-linux-gnu
