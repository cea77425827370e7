#!/usr/bin/env bash
# The README's main command, in a fresh copy as a stranger has it; its log must satisfy both decoders.
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

mkdir "$copy/logs"
find "$copy" -name '*.eventlog' -newer "$copy/start" -exec mv -t "$copy/logs" {} +
[ -n "$(ls "$copy/logs")" ] || die "the example left no *.eventlog in its directory"
step "logs of the example" bash .ci/logs.sh "$copy/logs"
