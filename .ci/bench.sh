#!/usr/bin/env bash
# Benches must build; a shared machine can't judge their numbers.
. "$(dirname "$0")/setup.sh"

cargo bench --workspace --no-run
