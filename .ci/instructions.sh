#!/usr/bin/env bash
# Instructions that an item takes in chunkring and in other queues, and an event in our ways and in others, counted by
# callgrind: the same on every run of one build, on whatever machine. Takes a minute; needs valgrind.
. "$(dirname "$0")/setup.sh"

command -v valgrind >/dev/null || die "valgrind is not installed"
built=$(cargo bench -p benches --features compare --bench compare --no-run 2>&1) || die "$built"
compare=$(sed -n 's/^ *Executable .*(\(.*\))$/\1/p' <<<"$built")
[ -x "$compare" ] || die "cargo did not name the executable: $built"

# instructions SUITE QUEUE ITEMS
instructions() {
    local log
    log=$(timeout 120 valgrind --tool=callgrind --callgrind-out-file=/dev/null '--toggle-collect=*counted*' \
        "$compare" "$1" --queues "$2" --once "$3" 2>&1) || die "$log"
    sed -n 's/.*Collected : \([0-9]*\)$/\1/p' <<<"$log" | grep . || die "no count: $log"
}

# The difference of two lengths: making the queue and warming it up are in both.
few=10000
many=30000
row() {
    local low high
    low=$(instructions "$1" "$2" "$few")
    high=$(instructions "$1" "$2" "$many")
    awk -v suite="$1" -v queue="$2" -v each="$(((high - low) * 100 / (many - few)))" \
        'BEGIN { printf "| %-18s | %-26s | %12.2f |\n", suite, queue, each / 100 }'
}

printf '| %-18s | %-26s | %12s |\n|---|---|---:|\n' suite queue instructions
for queue in chunkring rtrb ringbuf nexus-queue "chunkring mpsc" "nexus-queue mpsc" ArrayQueue; do
    row one-thread "$queue"
done
for queue in chunkring rtrb ringbuf "chunkring mpsc"; do
    row records/one-thread "$queue"
done
for queue in chunkring rtrb ringbuf bbqueue; do
    row records/one-thread "$queue by one"
done
row take-chunk chunkring
for way in "time stamp" capability "capability any text" "trace_event!" "trace_event! without a log" fastrace "tracing binary"; do
    row event/emit "$way"
done
