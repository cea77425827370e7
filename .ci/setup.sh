# Sourced by the scripts beside it: the repository's root, where builds go, and one way to report a step.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Absolute, since some steps run elsewhere.
TARGET=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
# A caller's flags would change what is checked, or make every step build anew.
unset CARGO_TARGET_DIR RUSTFLAGS RUSTDOCFLAGS
export CARGO_TARGET_DIR=$TARGET
# Every step builds once: what speeds the next build up, and what only a debugger reads, is left out. It is most of the disk.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only

die() {
    printf '\nFAILED: %s\n' "$*" >&2
    exit 1
}

# step NAME COMMAND...
step() {
    local name=$1 start=$SECONDS code=0
    shift
    printf '\n==> %s\n' "$name"
    "$@" </dev/null || code=$?
    [ "$code" = 0 ] || die "$name (exit $code): $*"
    printf -- '--- %s: %d s\n' "$name" $((SECONDS - start))
}
