#!/usr/bin/env bash
# logs.sh DIRECTORY: every log there must be accepted by elv and by `eventlog check`, and the two decoders must count
# the same.
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
trap 'rm -rf "$work"' EXIT
for log in "${logs[@]}"; do
    "$elv" check "$log" >"$work/elv.json" || die "elv refuses $log: $(jq -c .errors "$work/elv.json")"
    "$eventlog" check "$log" >"$work/check" 2>&1 || die "eventlog check refuses $log: $(cat "$work/check")"
    "$eventlog" stats --json "$log" >"$work/eventlog.json" || die "eventlog stats fails on $log"
    for side in elv eventlog; do
        jq -S "$same" "$work/$side.json" >"$work/$side" || die "$side: unreadable JSON for $log"
    done
    diff -u --label elv "$work/elv" --label eventlog "$work/eventlog" || die "the two decoders disagree about $log"
done
echo "${#logs[@]} logs accepted by both decoders, with the same counts"
