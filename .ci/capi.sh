#!/usr/bin/env bash
# capi.sh [PART]...: the C library: its headers, what it exports, its test programs as C and C++, under valgrind and
# AddressSanitizer; then an installation of it, with the README's program.
. "$(dirname "$0")/setup.sh"

headers=(eventlog/capi/include/*.h)
object_header=eventlog/object/include/eventlog_object.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Logs that the programs write are judged by the step of the tests.
unset ELV_LOGS CAPI_RUN CAPI_RUN_FORKING CAPI_FLAGS CAPI_LANGUAGE CC

# Each header by itself, and all of them with that of objects, which a host with cost centres of its own includes, too.
headers_compile() {
    local header strict=(-Wall -Wextra -Werror -pedantic -Ieventlog/capi/include "-I${object_header%/*}" -c -o /dev/null)
    for header in "${headers[@]}" "$object_header"; do
        echo "#include \"${header##*/}\"" >"$work/header.c"
        echo "#include \"${header##*/}\"" >>"$work/all.c"
        cc -x c -std=c99 "${strict[@]}" "$work/header.c"
        c++ -x c++ -std=c++17 "${strict[@]}" "$work/header.c"
    done
    cc -x c -std=c99 "${strict[@]}" "$work/all.c"
    c++ -x c++ -std=c++17 "${strict[@]}" "$work/all.c"
}

# What the headers declare is what the shared library exports, and nothing else.
symbols() {
    cargo build --locked --quiet -p ghc-eventlog-capi
    # What objects want of a host is in their own header.
    {
        grep -hoP '^EVL_API [^(;]*?\b\K\w+(?=[(;\[])' "${headers[@]}"
        sed -n '/^\/\* What a host exports/,/^$/p' "$object_header" | grep -oP '\bevl_\w+(?=[(;])'
    } | sort >"$work/declared"
    nm -D --defined-only "$TARGET/debug/libghceventlog.so" | awk '{ print $NF }' | sort >"$work/exported"
    grep -qx evl_way_prof_abi1 "$work/declared" || die "$object_header declares nothing of a host's"
    [ "$(wc -l <"$work/declared")" -ge 90 ] || die "the headers declare only: $(cat "$work/declared")"
    diff -u --label declared "$work/declared" --label exported "$work/exported" ||
        die "the headers and the library do not agree"
    if grep -vE '^(evl_[a-z0-9_]+|rts_(setEventLogSink|getEventLogSink|getEventLogChunk|resizeEventLog|getEventLogBuffersSize))$' \
        "$work/exported"; then
        die "the library exports what has another name than its own"
    fi
    readelf -d "$TARGET/debug/libghceventlog.so" | grep "SONAME.*libghceventlog\.so\.0" >/dev/null || die "no soname"
    echo "$(wc -l <"$work/exported") symbols, those of the headers"
}

programs() { cargo test --locked --quiet -p ghc-eventlog-capi --test c_programs; }

c() { cargo test --locked --quiet -p ghc-eventlog-capi; }

cxx() { CC=c++ CAPI_LANGUAGE="-x c++ -std=c++17" programs; }

# The test programs look for defects that valgrind and AddressSanitizer would see. That these see them is shown by one
# that has some.
canary() {
    cat >"$work/canary.c" <<'END'
#include "eventlog.h"
#include <stdlib.h>
int main(int argc, char **argv) {
    evl_sink sink;
    evl_log log;
    uint8_t *bytes;
    size_t len;
    (void)argv;
    evl_sink_memory(1 << 20, EVL_KEEP_OLDEST, &sink);
    evl_create(NULL, sink, &log);
    evl_flush(log);
    if (evl_chunk_copy(sink, 0, &bytes, &len) != EVL_OK) return 0;
    evl_drop(log);
    evl_sink_release(sink);
    if (argc > 1) {
        free(bytes);
        return bytes[0] == 77;
    }
    bytes = NULL;
    return 0;
}
END
    cc "$@" -g -Ieventlog/capi/include "$work/canary.c" "$TARGET/debug/libghceventlog.a" -pthread -ldl -lm -o "$work/canary"
}

under_valgrind() {
    cargo build --locked --quiet -p ghc-eventlog-capi
    local command=(valgrind -q --error-exitcode=9 "--errors-for-leak-kinds=definite,indirect")
    canary
    if "${command[@]}" --leak-check=full "$work/canary" 2>/dev/null; then die "valgrind sees no leak"; fi
    if "${command[@]}" --leak-check=no "$work/canary" freed 2>/dev/null; then die "valgrind sees no use after free"; fi
    # What threads of the parent held is nobody's in the child.
    CAPI_RUN="${command[*]} --leak-check=full" CAPI_RUN_FORKING="${command[*]} --leak-check=no" programs
}

# The compiler of C and nightly's share one run-time library of the sanitizer. That of GCC 12 may be locked for ever in
# a child that is forked while another thread allocates, so the fork is left to valgrind.
under_address_sanitizer() {
    local flags=("-fsanitize=address,undefined" -fno-sanitize-recover=all -fno-omit-frame-pointer)
    local host=x86_64-unknown-linux-gnu
    export RUSTFLAGS="-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer"
    export CARGO_TARGET_DIR=$TARGET/capi-asan ASAN_OPTIONS=detect_leaks=1
    cargo +nightly build --locked --quiet --target "$host" -p ghc-eventlog-capi
    TARGET=$CARGO_TARGET_DIR/$host canary "${flags[@]}"
    if "$work/canary" 2>/dev/null; then die "AddressSanitizer sees no leak"; fi
    if "$work/canary" freed 2>/dev/null; then die "AddressSanitizer sees no use after free"; fi
    nm -D "$CARGO_TARGET_DIR/$host/debug/libghceventlog.so" | grep __asan_report >/dev/null || die "the library is not instrumented"
    CAPI_FLAGS="${flags[*]}" cargo +nightly test --locked --quiet --target "$host" -p ghc-eventlog-capi --test c_programs -- \
        --skip a_child_finds_nothing
}

# The README's program, with both libraries, by pkg-config, where nothing else is.
installed() {
    local prefix=$work/prefix demo=$work/demo
    PROFILE=dev eventlog/capi/install.sh "$prefix"
    mkdir "$demo"
    # shellcheck disable=SC2016
    sed -n '/^```c$/,/^```$/p' eventlog/capi/README.md | sed '/^```/d' >"$demo/demo.c"
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    [ "$(pkg-config --modversion eventlog)" = "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)" ]
    # shellcheck disable=SC2046
    (
        cd "$demo"
        cc demo.c -Wall -Wextra -Werror $(pkg-config --cflags --libs eventlog) -pthread -o shared
        cc demo.c -Wall -Wextra -Werror $(pkg-config --cflags eventlog) -L"$(pkg-config --variable=libdir eventlog)" \
            -l:libghceventlog.a $(pkg-config --static --libs eventlog | sed s/-lghceventlog//) -pthread -o static
        LD_LIBRARY_PATH=$prefix/lib ./shared
    )
    cargo run --locked --quiet -p eventlog-cli -- check "$demo/demo.eventlog"
    [ "$(grep -ao 'item 999 done' "$demo/demo.eventlog" | wc -l)" = 2 ] || die "events are missing in the shared library's log"
    rm "$demo/demo.eventlog"
    (cd "$demo" && ./static)
    [ "$(grep -ao 'item 999 done' "$demo/demo.eventlog" | wc -l)" = 2 ] || die "events are missing in the static library's log"
    host_of_objects "$prefix" "$demo"
}

# The example's commands, with both libraries; the cost centres that its log tells of, and what is thought of the object.
host_of_objects() {
    local prefix=$1 demo=$2 kind
    cp eventlog/capi/examples/objects.c eventlog/object/sample/sample.c "$demo"
    # shellcheck disable=SC2046
    (
        cd "$demo"
        cc -O2 -fPIC -shared $(pkg-config --cflags eventlog) sample.c -o sample.so
        cc objects.c -Wall -Wextra -Werror $(pkg-config --cflags --libs eventlog) -o objects-shared
        cc objects.c -Wall -Wextra -Werror $(pkg-config --cflags eventlog) -L"$(pkg-config --variable=libdir eventlog)" \
            -l:libghceventlog.a $(pkg-config --static --libs eventlog | sed s/-lghceventlog//) -o objects-static
        for kind in shared static; do
            LD_LIBRARY_PATH=$prefix/lib "./objects-$kind" ./sample.so "$kind.eventlog" | tee "$kind.said"
        done
    )
    for kind in shared static; do
        grep -qx 'sample_c: way 1, tables of version [0-9.]*, 3 cost centres' "$demo/$kind.said" || die "the object is not told"
        grep -q '^  [0-9]*: sample.run (sample.c:[0-9]*)$' "$demo/$kind.said" || die "the list has no cost centre sample.run"
        grep -qx unmapped "$demo/$kind.said" || die "the object was not unmapped"
        cargo run --locked --quiet -p eventlog-cli -- check "$demo/$kind.eventlog"
        cargo run --locked --quiet -p eventlog-cli -- stats "$demo/$kind.eventlog" >"$demo/$kind.stats"
        grep -q '^  run  *sample .* 100.0% ' "$demo/$kind.stats" || die "not all samples are within run: $(cat "$demo/$kind.stats")"
        # Of those a twentieth are within round, too, so that one run in ten has none; twenty runs have some.
        for _ in $(seq 20); do
            if grep -q '^  round  *sample ' "$demo/$kind.stats"; then continue 2; fi
            (cd "$demo" && LD_LIBRARY_PATH=$prefix/lib "./objects-$kind" ./sample.so "$kind.eventlog" >/dev/null)
            cargo run --locked --quiet -p eventlog-cli -- stats "$demo/$kind.eventlog" >"$demo/$kind.stats"
        done
        die "no sample of the cost centre round: $(cat "$demo/$kind.stats")"
    done
}

# Each part in a shell of its own, in which every command must succeed.
if [ $# = 0 ]; then
    for part in headers_compile symbols c cxx under_valgrind under_address_sanitizer installed; do
        step "capi: $part" bash .ci/capi.sh "$part"
    done
fi
for part; do
    case $part in
    headers_compile | symbols | c | cxx | under_valgrind | under_address_sanitizer | installed) "$part" ;;
    *) die "usage: capi.sh [headers_compile|symbols|c|cxx|under_valgrind|under_address_sanitizer|installed]..." ;;
    esac
done
