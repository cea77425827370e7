#!/bin/sh
# Makes the seeds of the fuzz targets out of the test data: two bytes for the target, then a log.
# Small logs whole, of the others the header and the first blocks.
set -eu
cd "$(dirname "$0")"
mkdir -p seeds/decode
for log in ../eventlog/tests/data/*.eventlog; do
    { printf '\006\000'; head -c 6144 "$log"; } >"seeds/decode/$(basename "$log" .eventlog)"
done
# Data without a header, so that changes in it are not wasted on the header.
for log in threads-N2 heap-hc-prof sparks-N2 nonmoving; do
    { printf '\006\001'; tail -c +2689 "../eventlog/tests/data/$log.eventlog" | head -c 3072; } \
        >"seeds/decode/$log-data"
done
