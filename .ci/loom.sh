#!/usr/bin/env bash
# Every model, with the number of executions that it explored. LOOM_MAX_PREEMPTIONS=3 is the thorough run.
. "$(dirname "$0")/setup.sh"

export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2}
mkdir -p "$TARGET/loom"
export RUSTFLAGS="--cfg loom" RUSTDOCFLAGS="--cfg loom" CARGO_TARGET_DIR="$TARGET/loom"
cargo test --profile loom -p loom-tests --lib --tests -- --nocapture 2>&1 | tee "$TARGET/loom/models.log"
grep -q '^ *Running tests/' "$TARGET/loom/models.log" || die "loom-tests/tests holds no model"
models=$(grep -cE 'model [^:]+: [0-9]+ executions' "$TARGET/loom/models.log") || die "no model ran"
cargo test --profile loom -p loom-tests --doc
echo "$models models at preemption bound $LOOM_MAX_PREEMPTIONS"
