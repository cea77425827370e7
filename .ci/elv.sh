#!/usr/bin/env bash
# Builds the independent checker of event logs as target/elv/elv.
. "$(dirname "$0")/setup.sh"

mkdir -p "$TARGET/elv"
ghc -O1 -Wall -Werror -v0 -outputdir "$TARGET/elv" -o "$TARGET/elv/elv" tools/elv/Elv.hs
