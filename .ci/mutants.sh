#!/usr/bin/env bash
# Damages the ring, one place at a time; a model must notice each. MUTANTS_BUDGET is in seconds; those that no longer
# fit are named in the report.
. "$(dirname "$0")/setup.sh"

cargo run --quiet -p loom-tests --bin mutants -- --budget "${MUTANTS_BUDGET:-200}" "$@"
