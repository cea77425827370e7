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
for name in redirect in_memory flight_recorder trace_macros tracing_layer; do
    grep -qE "cargo run --release .*--example $name\b" README.md || die "README.md must say how to run the example $name"
    command="cargo run --release --features ghc-eventlog/tracing --example $name"
    step "the example $name" in_copy
done

mkdir "$copy/logs"
find "$copy" -name '*.eventlog' -newer "$copy/start" -exec mv -t "$copy/logs" {} +
[ -n "$(ls "$copy/logs")" ] || die "the example left no *.eventlog in its directory"
step "logs of the example" bash .ci/logs.sh "$copy/logs"
