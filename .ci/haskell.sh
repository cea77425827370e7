#!/usr/bin/env bash
# haskell.sh [PART]...: real Haskell programs whose event log goes through the library: redirected under load, resized, in
# memory, started again, forked, served; in every way of compiling. Each log is read by elv and by `ghc-events`.
. "$(dirname "$0")/setup.sh"

here=$PWD/eventlog/capi
library=$TARGET/release/libghceventlog.a
eventlog=$TARGET/release/eventlog
elv=$TARGET/elv/elv
built=$TARGET/haskell
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Whatever is said here is not said to the programs.
unset EVENTLOG_SINK EVENTLOG_MODE EVENTLOG_BUDGET EVENTLOG_LISTEN EVENTLOG_FLUSH_MS GHCRTS

# compile NAME SOURCE FLAG...: with the shim, and the run-time system's start wrapped.
compile() {
    local name=$1 source=$2
    shift 2
    mkdir -p "$built/$name.o"
    # GHC leaves the object beside the source.
    cp "$here/shim/ghc_shim.c" "$built/$name.o"
    ghc -v0 -Wall -Werror -O1 -rtsopts "$@" -i"$here/haskell/src" -outputdir "$built/$name.o" "$here/haskell/$source" \
        "$built/$name.o/ghc_shim.c" "$library" -optl-Wl,--wrap=startEventLogging -o "$built/$name"
}

# compile_c NAME SOURCE
compile_c() {
    cc -std=c99 -O1 -g -Wall -Wextra -Werror -pedantic -I"$here/include" "$here/$2" "$library" -pthread -ldl -lm -o "$built/$1"
}

# accepted LOG...: each is a whole log, by two decoders that know nothing of this project's.
accepted() {
    "$elv" check "$@" >"$work/elv.json" || die "elv refuses a log: $(jq -c 'select(.ok | not) | {file, errors}' "$work/elv.json")"
    [ "$(jq -s 'map(select(.ok)) | length' "$work/elv.json")" = $# ] || die "elv has not read $# logs"
    local log
    for log; do
        ghc-events show "$log" >"$work/shown" || die "ghc-events refuses $log"
    done
}

# texts PATTERN LOG...: what matches in the logs' messages, sorted.
# Whoever asks whether there are any reads them all: nobody before it in a pipe is to fail for want of a reader.
texts() {
    local pattern=$1
    shift
    cat "$@" | LC_ALL=C grep -aoE "$pattern" | LC_ALL=C sort
}

# each_once DIRECTORY EVENTS: every event of the four threads is in one of the logs, and in one only.
each_once() {
    local found
    texts 't[0-3] #[0-9]+\.' "$1"/*.eventlog >"$work/found"
    found=$(wc -l <"$work/found")
    [ "$found" = $((4 * $2)) ] || die "$found events in $1 instead of $((4 * $2))"
    [ "$(uniq "$work/found" | wc -l)" = "$found" ] || die "an event is twice in $1"
}

# cut_right DIRECTORY TIMES: what was said before a redirection is in the log before it, and what was said after in the next.
cut_right() {
    local time
    for time in $(seq "$2"); do
        texts "before $time\." "$1/$((time - 1)).eventlog" | grep . >/dev/null || die "what came before cut $time is not before it"
        texts "after $time\." "$1/$time.eventlog" | grep . >/dev/null || die "what came after cut $time is not after it"
    done
}

# redirect NAME EVENTS TIMES RTS-FLAG...
redirect() {
    local name=$1 events=$2 times=$3 directory=$work/$1.$RANDOM
    shift 3
    mkdir "$directory"
    # However busy the machine is, nothing is to be lost.
    (
        # Where a heap profile is left.
        cd "$directory"
        EVENTLOG_BUDGET=1G EVENTLOG_SINK=$directory/0.eventlog "$built/$name" "$directory" "$events" "$times" +RTS "$@" -RTS
    )
    each_once "$directory" "$events"
    cut_right "$directory" "$times"
    accepted "$directory"/*.eventlog
    [ "$(find "$directory" -name '*.eventlog' | wc -l)" = $((times + 1)) ] || die "not every file is there"
    echo "$((4 * events)) events over $((times + 1)) logs, each in one ($name $*)"
}

threaded() {
    compile redirect tests/Redirect.hs -threaded -eventlog
    redirect redirect 200000 20 -l -N2
    redirect redirect 20000 10 -l -N2 -xn
    redirect redirect 20000 10 -l -N2 -hT -i0.01
}

not_threaded() {
    compile redirect-plain tests/Redirect.hs -eventlog
    redirect redirect-plain 50000 20 -l
}

profiled() {
    compile redirect-prof tests/Redirect.hs -prof -fprof-auto -threaded
    redirect redirect-prof 20000 10 -l -N2 -hc -i0.01
}

# By RtsConfig, with the shared library and without the shim: then no cut is whole, and still no event is lost.
by_configuration() {
    local directory=$work/configured
    mkdir -p "$directory" "$built/configured.o"
    cp "$here/haskell/examples/main.c" "$built/configured.o"
    ln -sfn "$TARGET/release/libghceventlog.so" "$built/libghceventlog.so.0"
    ghc -v0 -O1 -threaded -eventlog -no-hs-main -I"$here/include" -outputdir "$built/configured.o" \
        "$here/haskell/tests/Rate.hs" "$built/configured.o/main.c" -L"$TARGET/release" -lghceventlog \
        -optl-Wl,-rpath,"$built" -o "$built/configured"
    (cd "$directory" && "$built/configured" 20000 +RTS -l -N2 >/dev/null)
    # As GHC names it, where nothing is said.
    accepted "$directory/configured.eventlog"
    [ "$(texts 'an event of some words' "$directory/configured.eventlog" | wc -l)" = 40000 ] || die "events are missing"
}

memory() {
    compile memory tests/Memory.hs -threaded -eventlog
    memory_of memory 300000 4
}

# memory_of NAME EVENTS CHUNKS: these are so many at least.
memory_of() {
    local directory=$work/memory chunks
    mkdir "$directory"
    chunks=$(EVENTLOG_SINK=$directory/0.eventlog "$built/$1" "$directory" "$2" +RTS -l -N2)
    [ "$chunks" -ge "$3" ] || die "only $chunks chunks"
    accepted "$directory"/*.eventlog
    [ "$(texts 't0 #[0-9]+\.' "$directory"/chunk-*.eventlog | uniq | wc -l)" = "$2" ] || die "events of the chunks are missing"
    [ "$(texts 'in the file( again)?\.' "$directory/0.eventlog" | tr '\n' ' ')" = "in the file again. in the file. " ] ||
        die "the file does not go on where it was"
    echo "$2 events in $chunks chunks"
}

restart() {
    compile restart tests/Restart.hs -threaded -eventlog
    restart_of restart
}

# restart_of NAME
restart_of() {
    local directory=$work/restart
    mkdir "$directory"
    EVENTLOG_SINK=$directory/0.eventlog "$built/$1" +RTS -l
    accepted "$directory/0.eventlog"
    [ "$(texts '(before the stop|while it is stopped|after the start)\.' "$directory/0.eventlog" | wc -l)" = 2 ] ||
        die "both parts, and nothing else, must be in one log"
}

fork() {
    local directory=$work/fork child
    mkdir "$directory"
    compile fork tests/Fork.hs -threaded -eventlog
    child=$(EVENTLOG_SINK=$directory/0.eventlog "$built/fork" +RTS -l)
    accepted "$directory/0.eventlog" "$directory/0.eventlog.$child"
    [ "$(texts '(parent, (before|after)|child)\.' "$directory/0.eventlog" | tr '\n' ' ')" = "parent, after. parent, before. " ] ||
        die "the parent's log is not the parent's"
    [ "$(texts 'child\.' "$directory/0.eventlog.$child")" = "child." ] || die "the child's log is not the child's"
}

# What the environment says, and says wrongly.
environment() {
    local directory=$work/environment
    mkdir "$directory"
    compile restart tests/Restart.hs -threaded -eventlog
    EVENTLOG_MODE=tape EVENTLOG_BUDGET=12 EVENTLOG_LISTEN=here EVENTLOG_SINK=$directory/%p.eventlog \
        "$built/restart" +RTS -l 2>"$directory/told"
    grep -qx 'eventlog: EVENTLOG_MODE=tape: must be file, memory or flight; file is taken' "$directory/told" || die "not told"
    grep -q '^eventlog: EVENTLOG_BUDGET=12: .* 65571' "$directory/told" || die "not told"
    grep -q '^eventlog: EVENTLOG_LISTEN=here: must be unix:PATH or tcp:ADDRESS:PORT' "$directory/told" || die "not told"
    accepted "$directory"/[0-9]*.eventlog
    EVENTLOG_SINK=$directory/no/such/directory "$built/restart" +RTS -l 2>"$directory/told"
    grep -q '^eventlog: EVENTLOG_SINK: .*/no/such/directory: .*; nothing is written$' "$directory/told" || die "not told"
    EVENTLOG_SINK=tcp:foo "$built/restart" +RTS -l 2>"$directory/told"
    grep -q '^eventlog: EVENTLOG_SINK=tcp:foo: must be .*tcp:ADDRESS:PORT; nothing is written$' "$directory/told" || die "not told"
    EVENTLOG_SINK=- "$built/restart" +RTS -l >"$directory/output.eventlog"
    EVENTLOG_MODE=flight EVENTLOG_SINK=$directory/flight.eventlog "$built/restart" +RTS -l
    accepted "$directory/output.eventlog" "$directory/flight.eventlog"
    texts 'after the start\.' "$directory/flight.eventlog" | grep . >/dev/null || die "the newest is missing in the recording"
}

# A program that says little is seen to say it, and ends whatever its timer is doing.
timer() {
    local directory=$work/timer log=$work/timer/0.eventlog running
    mkdir "$directory"
    compile quiet tests/Quiet.hs -threaded -eventlog
    compile quiet-plain tests/Quiet.hs -eventlog
    mkfifo "$directory/lines"
    EVENTLOG_FLUSH_MS=20 EVENTLOG_SINK=$log "$built/quiet" +RTS -l -N2 <"$directory/lines" &
    running=$!
    exec 9>"$directory/lines"
    seen 'it begins\.' "$log"
    echo one >&9
    seen 'it has read one\.' "$log"
    exec 9>&-
    wait "$running" || die "the program has failed"
    accepted "$log"
    [ "$(texts 'it (begins|has read one|ends)\.' "$log" | tr '\n' ' ')" = "it begins. it ends. it has read one. " ] ||
        die "an event is missing, or twice"
    for _ in $(seq 50); do
        EVENTLOG_FLUSH_MS=10 EVENTLOG_SINK=$log timeout 60 "$built/quiet" +RTS -l -N2 </dev/null || die "a program does not end"
    done
    accepted "$log"
    EVENTLOG_FLUSH_MS=5 EVENTLOG_SINK=none "$built/quiet" +RTS -l </dev/null 2>"$directory/told"
    grep -q '^eventlog: EVENTLOG_FLUSH_MS=5: must be a number of milliseconds, from 10 ' "$directory/told" || die "not told"
    EVENTLOG_FLUSH_MS=20 EVENTLOG_SINK=none "$built/quiet-plain" +RTS -l </dev/null 2>"$directory/told"
    grep -q '^eventlog: EVENTLOG_FLUSH_MS=20: .* not linked with -threaded' "$directory/told" || die "not told"
    EVENTLOG_SINK=none "$built/quiet" +RTS -l </dev/null 2>"$directory/told"
    [ ! -s "$directory/told" ] || die "something is told where nothing is asked for"
}

# seen PATTERN LOG: it comes while the program runs.
seen() {
    local deadline=$((SECONDS + 60))
    until [ -e "$2" ] && texts "$1" "$2" >/dev/null; do
        [ "$SECONDS" -lt "$deadline" ] || die "not seen: $1"
        sleep 0.05
    done
}

# What a run-time system does with its writer, from C: recorded writes, by two threads at once.
captures() {
    local name directory events
    compile_c handed_over tests/c/handed_over.c
    for name in plain small restart refused; do
        directory=$work/capture-$name
        mkdir "$directory"
        cp "eventlog/tests/data/capture-$name.writes" "$directory/capture.writes"
        events=$("$built/handed_over" "$directory")
        accepted "$directory"/*.eventlog
        "$eventlog" replay "eventlog/tests/data/capture-$name.writes" -o "$work/whole.eventlog" >/dev/null
        "$eventlog" stats --json "$work/whole.eventlog" >"$work/whole.json"
        # Markers of blocks are counted there, too.
        [ "$(jq -s '.[0] | .events - .blocks' "$work/whole.json")" = "$events" ] || die "$name: $events events"
        # Messages are told once, whatever late logs are told besides.
        [ "$(jq -s 'map(.counts["19"] // 0) | add' "$work/elv.json")" = "$(jq -s '.[0].counts["19"] // 0' "$work/whole.json")" ] ||
            die "$name: messages are missing"
    done
}

# The two programs that a user would copy.
examples() {
    local directory=$work/examples server
    mkdir "$directory"
    compile pauses examples/Pauses.hs -threaded -eventlog
    (cd "$directory" && "$built/pauses" +RTS -l) | tee "$directory/said"
    grep -qE '^[1-9][0-9]* garbage collections: [0-9.]+ ms in all, the longest [0-9.]+ ms$' "$directory/said" || die "no pauses"
    accepted "$directory/pauses.eventlog"
    compile server examples/Server.hs -threaded -eventlog
    EVENTLOG_SINK=none EVENTLOG_LISTEN=unix:$directory/other.sock "$built/server" "$directory/server.sock" 4 +RTS -l -N2 &
    server=$!
    for _ in $(seq 100); do [ -S "$directory/server.sock" ] && break; sleep 0.1; done
    "$eventlog" tail "$directory/server.sock" >"$directory/tailed" &
    "$eventlog" record "$directory/other.sock" -o "$directory/recorded.eventlog" >/dev/null
    wait "$server" || die "the server has failed"
    wait
    grep -q 'begins request' "$directory/tailed" || die "nothing to be seen: $(cat "$directory/tailed")"
    accepted "$directory/recorded.eventlog"
    texts 'answers: begins request [0-9]+' "$directory/recorded.eventlog" | grep . >/dev/null || die "nothing recorded"
}

# The same programs with the library and the shim instrumented; but not the one that forks, for which see capi.sh. What the
# Haskell heap points to looks like a leak to the sanitizer, so these are looked for by the programs in C only.
under_address_sanitizer() {
    local host=x86_64-unknown-linux-gnu
    RUSTFLAGS="-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR=$TARGET/capi-asan \
        cargo +nightly build --locked --quiet --target "$host" -p ghc-eventlog-capi
    library=$TARGET/capi-asan/$host/debug/libghceventlog.a
    built=$TARGET/haskell/asan
    mkdir -p "$built"
    export ASAN_OPTIONS=detect_leaks=0
    local flags=(-threaded -eventlog -optc-fsanitize=address -optl-fsanitize=address)
    compile redirect tests/Redirect.hs "${flags[@]}"
    nm "$built/redirect" | grep __asan_report >/dev/null || die "the program is not instrumented"
    redirect redirect 20000 10 -l -N2
    compile memory tests/Memory.hs "${flags[@]}"
    memory_of memory 100000 2
    compile restart tests/Restart.hs "${flags[@]}"
    restart_of restart
    compile pauses examples/Pauses.hs "${flags[@]}"
    (cd "$work" && "$built/pauses" +RTS -l) | grep 'garbage collections' >/dev/null || die "no pauses"
}

# What a full buffer costs the thread that hands it over, and what the log costs the program. The numbers are for people.
# The bounds hold on a machine that does other things, too: of a write it is the best tenth that is looked at, and of a
# program the best run, which is tried again when it does not suffice.
cost() {
    local best median most plain usual ghc=0 ours=0 now
    compile_c cost haskell/tests/cost.c
    read -r best median most plain usual < <("$built/cost" eventlog/tests/data/capture-plain.writes)
    echo "a write of 2 MiB, while the sink takes 3700 us for it: $median us (a tenth within $best us, nine within $most us);" \
        "to copy 2 MiB takes $usual us (a tenth within $plain us)"
    # Where no core is free the library's thread, which is woken, may run before the call returns.
    [ "$best" -le $((plain * 3 / 2 + 1000)) ] || die "a write costs more than to copy 2 MiB one and a half times, and 1 ms"
    compile rate tests/Rate.hs -threaded -eventlog
    mkdir -p "$built/rate-ghc.o"
    ghc -v0 -O1 -threaded -eventlog -rtsopts -outputdir "$built/rate-ghc.o" "$here/haskell/tests/Rate.hs" -o "$built/rate-ghc"
    for _ in 1 2 3; do
        for _ in 1 2 3 4 5; do
            now=$("$built/rate-ghc" 1000000 +RTS -l -N1 -ol"$work/ghc.eventlog")
            [ "$now" -le "$ghc" ] || ghc=$now
            now=$(EVENTLOG_SINK=$work/ours.eventlog "$built/rate" 1000000 +RTS -l -N1)
            [ "$now" -le "$ours" ] || ours=$now
        done
        [ "$ours" -lt "$ghc" ] || break
    done
    echo "events a second: $ours with the library, $ghc with GHC's own writer ($((ours * 100 / ghc)) %)"
    [ $((ours * 10)) -ge $((ghc * 9)) ] || die "a program is slower by more than a tenth"
}

parts=(threaded not_threaded profiled by_configuration memory restart fork environment timer captures examples under_address_sanitizer cost)
if [ $# = 0 ]; then
    cargo build --locked --quiet --release -p ghc-eventlog-capi -p eventlog-cli
    [ -x "$elv" ] || bash .ci/elv.sh
    mkdir -p "$built"
    for part in "${parts[@]}"; do
        step "haskell: $part" bash .ci/haskell.sh "$part"
    done
fi
for part; do
    [[ " ${parts[*]} " = *" $part "* ]] || die "usage: haskell.sh [PART]..., of ${parts[*]}"
    "$part"
done
