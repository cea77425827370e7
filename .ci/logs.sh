#!/usr/bin/env bash
# logs.sh DIRECTORY: every log there must be accepted by elv and by `eventlog check`, and the two decoders must count
# the same. Those named for it must satisfy the state machine that `ghc-events` has of threads.
. "$(dirname "$0")/setup.sh"

dir=${1:?usage: logs.sh DIRECTORY}
elv=$TARGET/elv/elv
eventlog=$TARGET/debug/eventlog
[ -x "$elv" ] || bash .ci/elv.sh
cargo build --quiet -p eventlog-cli

mapfile -d '' -t logs < <(find "$dir" -type f -print0 | sort -z)
[ ${#logs[@]} -gt 0 ] || die "no log in $dir: the tests wrote none, so nothing was checked"

# 65535 is how a block says that it belongs to no capability.
same='def cap: with_entries(.key |= if . == "65535" then "none" else . end);
    {events, blocks, bytes, header_bytes, event_types, counts,
     events_per_cap: (.events_per_cap // .decoded_per_cap | cap), blocks_per_cap: (.blocks_per_cap | cap)}'
work=$(mktemp -d)
threads=0
trap 'rm -rf "$work"' EXIT
for log in "${logs[@]}"; do
    "$elv" check "$log" >"$work/elv.json" || die "elv refuses $log: $(jq -c .errors "$work/elv.json")"
    "$eventlog" check "$log" >"$work/check" 2>&1 || die "eventlog check refuses $log: $(cat "$work/check")"
    "$eventlog" stats --json "$log" >"$work/eventlog.json" || die "eventlog stats fails on $log"
    for side in elv eventlog; do
        jq -S "$same" "$work/$side.json" >"$work/$side" || die "$side: unreadable JSON for $log"
    done
    diff -u --label elv "$work/elv" --label eventlog "$work/eventlog" || die "the two decoders disagree about $log"
    case $log in
    */log-threads-*)
        ghc-events validate threads "$log" >"$work/threads" || die "ghc-events fails on $log: $(cat "$work/threads")"
        grep -q '^Valid event log' "$work/threads" || die "a thread of $log does what it cannot: $(tail -n 2 "$work/threads")"
        threads=$((threads + 1))
        ;;
    esac
done
[ "$threads" -gt 0 ] || [ -z "${THREADS_REQUIRED-}" ] || die "no log in $dir was written to show its threads"
echo "${#logs[@]} logs accepted by both decoders, with the same counts; $threads of them with valid threads"
