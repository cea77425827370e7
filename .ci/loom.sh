#!/usr/bin/env bash
# Every model, in both ways to load (primitive.rs says why there are two), with the number of executions that it
# explored. LOOM_MAX_PREEMPTIONS=3 is the thorough run, LOOM_LOADS=exchanges or =plain one of the two ways.
. "$(dirname "$0")/setup.sh"

export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2}
mkdir -p "$TARGET/loom"
summary=
export RUSTFLAGS="--cfg loom" RUSTDOCFLAGS="--cfg loom" CARGO_TARGET_DIR="$TARGET/loom"
for loads in ${LOOM_LOADS:-exchanges plain}; do
    log=$TARGET/loom/models-$loads.log
    LOOM_LOADS=$loads cargo test --profile loom -p loom-tests --no-fail-fast --lib --tests -- --nocapture 2>&1 | tee "$log"
    grep -q '^ *Running tests/' "$log" || die "loom-tests/tests holds no model"
    models=$(grep -cE 'model [^:]+: [0-9]+ executions' "$log") || die "no model ran"
    summary+="$models models with $loads at preemption bound $LOOM_MAX_PREEMPTIONS"$'\n'
done
cargo test --profile loom -p loom-tests --doc
printf '%s' "$summary"
