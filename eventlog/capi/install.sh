#!/usr/bin/env bash
# install.sh PREFIX: builds the C library, and installs it below PREFIX: headers, shared and static library, the shim for
# Haskell programs, and eventlog.pc for pkg-config. PROFILE=dev builds it without optimisation; DESTDIR goes before PREFIX, for packagers.
set -euo pipefail
prefix=${1:?usage: install.sh PREFIX}
case $prefix in
-*)
    echo "usage: install.sh PREFIX" >&2
    exit 2
    ;;
esac
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
case $prefix in
/*) ;;
*) prefix=$(realpath -m "$prefix") ;;
esac
cd "$here/../.."

profile=${PROFILE:-release}
directory=$profile
[ "$profile" != dev ] || directory=debug
cargo build --locked --quiet --profile "$profile" -p ghc-eventlog-capi
built=${CARGO_TARGET_DIR:-target}/$directory
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

root=${DESTDIR:-}$prefix
install -d "$root/include" "$root/lib/pkgconfig"
install -m 644 eventlog/capi/include/*.h eventlog/object/include/eventlog_object.h "$root/include/"
install -d "$root/share/ghc-eventlog"
install -m 644 eventlog/capi/shim/ghc_shim.c "$root/share/ghc-eventlog/"
install -m 644 "$built/libghceventlog.a" "$root/lib/"
install -m 755 "$built/libghceventlog.so" "$root/lib/libghceventlog.so.$version"
ln -sfn "libghceventlog.so.$version" "$root/lib/libghceventlog.so.0"
ln -sfn libghceventlog.so.0 "$root/lib/libghceventlog.so"
cat >"$root/lib/pkgconfig/eventlog.pc" <<END
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: eventlog
Description: Event logs in the format of GHC's run-time system
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lghceventlog
Libs.private: -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
END
echo "libghceventlog $version is in $root"
