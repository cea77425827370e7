#!/usr/bin/env bash
# sanitize.sh [thread|address]: the tests of the ring and the event log under each sanitizer, after a proof that the
# sanitizer sees what it should and nothing else. std comes prebuilt and uninstrumented; tsan/ makes up for that.
. "$(dirname "$0")/setup.sh"

host=x86_64-unknown-linux-gnu
# Some tests ask for more memory than there is, and see to it that the refusal is handled.
refusing=allocator_may_return_null=1
export PROPTEST_CASES=${PROPTEST_CASES:-16}
# Under load, the shape of a ring changes so often; what is to be seen shows soon.
export CHUNKRING_RESIZES=${CHUNKRING_RESIZES:-2000}
export EVENTLOG_ROUNDS=${EVENTLOG_ROUNDS:-30}
export EVENTLOG_SOAK_STEPS=${EVENTLOG_SOAK_STEPS:-6}
# std prints a backtrace under a lock of its own that ThreadSanitizer knows nothing of, and tests panic on purpose.
export RUST_BACKTRACE=0
# The harness shares the output that it captures with every thread that a test starts, and the prebuilt libtest reads it.
export RUST_TEST_NOCAPTURE=1

# One edge of the prebuilt std per line: the macro for std_sync.c, and the end of the function's mangled name.
std_symbols() {
    local std symbol name pattern
    std=$(rustc +nightly --print sysroot)/lib/rustlib/$host/lib
    while read -r name pattern; do
        symbol=$(grep -aohE "_RNv(M|Ms[0-9a-zA-Z]*_)$pattern" "$std"/libstd-*.so | sort -u)
        [ "$(wc -w <<<"$symbol")" = 1 ] || die "this nightly's std has no single $name: adapt sanitize.sh to it"
        echo "$name=$symbol"
    done <<'END'
MUTEX_LOCK NtNtNtNtCs[A-Za-z0-9]+_3std3sys4sync5mutex5futexNtB[0-9]+_5Mutex14lock_contended
RWLOCK_READ NtNtNtNtCs[A-Za-z0-9]+_3std3sys4sync6rwlock5futexNtB[0-9]+_6RwLock14read_contended
RWLOCK_WRITE NtNtNtNtCs[A-Za-z0-9]+_3std3sys4sync6rwlock5futexNtB[0-9]+_6RwLock15write_contended
CONDVAR_WAIT NtNtNtNtCs[A-Za-z0-9]+_3std3sys4sync7condvar5futexNtB[0-9]+_7Condvar4wait
CONDVAR_WAIT_TIMEOUT NtNtNtNtCs[A-Za-z0-9]+_3std3sys4sync7condvar5futexNtB[0-9]+_7Condvar12wait_timeout
ONCE_CALL NtNtNtNtCs[A-Za-z0-9]+_3std3sys4sync4once5futexNtB[0-9]+_4Once4call
SCOPE_COUNT_DOWN NtNtCs[A-Za-z0-9]+_3std6thread6scopedNtB[0-9]+_9ScopeData29decrement_num_running_threads
END
}

# canary NAME FLAGS: builds one of canaries/.
canary() {
    local name=$1
    shift
    rustc +nightly --edition 2024 --target "$host" -g -o "$out/$name" "$@" ".ci/canaries/$name.rs"
}

# reports PATTERN COMMAND...: the sanitizer must fail the command with this report.
reports() {
    local pattern=$1
    shift
    if "$@" >"$out/report" 2>&1; then
        die "no report about: $*"
    fi
    grep -q "$pattern" "$out/report" || die "another report than '$pattern' about $*: $(cat "$out/report")"
}

thread() {
    out=$TARGET/tsan
    mkdir -p "$out"
    # Named for its content, since cargo links anew only when the flags differ.
    local object names=() symbols s
    object=$out/std_sync-$(sha256sum .ci/tsan/std_sync.c | cut -c 1-16).o
    local flags=(-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer "-Clink-arg=$object")
    symbols=$(std_symbols)
    for s in $symbols; do
        names+=("-D$s")
        flags+=("-Clink-arg=-Wl,--wrap=${s#*=}")
    done
    for s in 32_fetch_sub 64_fetch_sub _thread_fence; do
        flags+=("-Clink-arg=-Wl,--wrap=__tsan_atomic$s")
    done
    # A panic may pass through the wrappers.
    cc -O1 -Wall -Werror -fexceptions "${names[@]}" -c .ci/tsan/std_sync.c -o "$object"
    export TSAN_OPTIONS="suppressions=$PWD/.ci/tsan/suppressions.txt print_suppressions=1 $refusing"

    canary race "${flags[@]}"
    reports "ThreadSanitizer: data race" "$out/race" plain
    reports "ThreadSanitizer: data race" "$out/race" drop
    canary sound "${flags[@]}"
    "$out/sound" 2>"$out/report" || die "ThreadSanitizer reports a race in a sound program: adapt tsan/std_sync.c to this nightly:
$(cat "$out/report")"
    echo "ThreadSanitizer reports the planted races, and none in the sound program"
    RUSTFLAGS="${flags[*]}" CARGO_TARGET_DIR=$out tests
}

address() {
    out=$TARGET/asan
    mkdir -p "$out"
    local flags=(-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer)
    export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1 $refusing"

    canary memory "${flags[@]}"
    reports "heap-use-after-free" "$out/memory" freed
    reports "LeakSanitizer: detected memory leaks" "$out/memory" leak
    echo "AddressSanitizer reports the planted defects"
    RUSTFLAGS="${flags[*]}" CARGO_TARGET_DIR=$out tests
}

# With a --target, flags stay away from build scripts and macros, which run on the compiler's side.
tests() {
    cargo +nightly test --no-fail-fast --target "$host" -p chunkring -p ghc-eventlog \
        --features chunkring/async,ghc-eventlog/tracing,ghc-eventlog/objects --lib --tests
    # Memory that sanitizers keep for themselves grows, so what the cycles leave is not looked at. Objects are as they are.
    OBJECTS_ROUNDS=20 cargo +nightly test --no-fail-fast --target "$host" -p objects-host \
        --test bad_objects --test in_use --test profiles --test registering --test reload --test samples --test together \
        --test traps
}

[ $# -gt 0 ] || set -- thread address
for sanitizer; do
    case $sanitizer in
    thread | address) ("$sanitizer") ;;
    *) die "usage: sanitize.sh [thread|address]" ;;
    esac
done
