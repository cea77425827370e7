#!/usr/bin/env bash
# The README's main command, in a fresh copy as a stranger has it, then the other examples; their logs must satisfy both
# decoders.
. "$(dirname "$0")/setup.sh"

command='cargo run --release --example live_profile'
grep -qE "^(\\$ )?$command\$" README.md || die "README.md must give the line: $command"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null --create --files-from=- | tar --extract --directory="$copy"
mkdir "$copy/tmp"
touch "$copy/start"

in_copy() (
    cd "$copy"
    # shellcheck disable=SC2086
    TMPDIR=$copy/tmp timeout 600 $command
)
step "$command" in_copy

# The examples that the README names beside it.
for name in redirect in_memory flight_recorder trace_macros tracing_layer profiled; do
    grep -qE "cargo run --release .*--example $name\b" README.md || die "README.md must say how to run the example $name"
    command="cargo run --release --features ghc-eventlog/tracing,ghc-eventlog/objects --example $name"
    step "the example $name" in_copy
done

# What the profile of the last one says, by time and by bytes, as a table and as pictures.
profile() {
    local eventlog=$TARGET/debug/eventlog log=$copy/profiled.eventlog
    cargo build --quiet -p eventlog-cli
    "$eventlog" stats "$log" >"$copy/stats"
    for wanted in '^  Time by cost centre: [1-9]' '^  Bytes by cost centre: [1-9]' '^  index  *profiled  .*profiled.rs:'; do
        grep -qE "$wanted" "$copy/stats" || die "stats does not tell '$wanted': $(cat "$copy/stats")"
    done
    for kind in '' --bytes; do
        # shellcheck disable=SC2086
        "$eventlog" flamegraph $kind "$log" -o "$copy/graph.svg"
        grep -q '<title>profiled.index (' "$copy/graph.svg" || die "the flame graph $kind has no profiled.index"
        # shellcheck disable=SC2086
        "$eventlog" flamegraph $kind --folded "$log" -o "$copy/folded"
        grep -q '^profiled.count;profiled.index ' "$copy/folded" || die "the folded text $kind has no such stack"
    done
    "$eventlog" renumber "$log" -o "$copy/dense.eventlog"
    ghc-events show "$copy/dense.eventlog" >"$copy/shown"
    grep -q 'cost centre 1 ' "$copy/shown" || die "ghc-events finds no cost centre 1"
}
step "the profile of the example" profile

mkdir "$copy/logs"
find "$copy" -name '*.eventlog' -newer "$copy/start" -exec mv -t "$copy/logs" {} +
[ -n "$(ls "$copy/logs")" ] || die "the example left no *.eventlog in its directory"
step "logs of the example" bash .ci/logs.sh "$copy/logs"
