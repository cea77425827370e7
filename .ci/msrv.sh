#!/usr/bin/env bash
# Builds the published packages with the oldest supported compiler: rustup's if it is there, else Debian's, unpacked
# into the target directory without installing it.
. "$(dirname "$0")/setup.sh"

version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
[ -n "$version" ] || die "no rust-version in Cargo.toml"
packages=(-p chunkring -p ghc-eventlog -p ghc-eventlog-object -p eventlog-cli -p ghc-eventlog-capi
    --features "chunkring/async,ghc-eventlog/tracing,ghc-eventlog/objects")
export CARGO_TARGET_DIR=$TARGET/msrv

if rustup toolchain list 2>/dev/null | grep -q "^${version}[.-]"; then
    toolchain=$(rustup toolchain list | sed -n "s/^\(${version}[^ ]*\).*/\1/p" | head -n 1)
    cargo "+$toolchain" check --locked "${packages[@]}"
    exit
fi

skip() {
    printf '\n*** THE MSRV WAS NOT CHECKED: %s ***\n\n' "$*"
    exit 0
}

tools=$TARGET/msrv/debian
cargo=$tools/usr/bin/cargo
export LD_LIBRARY_PATH=$tools/usr/lib/x86_64-linux-gnu:$tools/lib/x86_64-linux-gnu
export RUSTC=$tools/usr/bin/rustc
if ! "$RUSTC" --version 2>/dev/null | grep -q "^rustc $version\." || ! "$cargo" --version >/dev/null 2>&1; then
    command -v apt-cache >/dev/null || skip "neither rustup nor Debian offers rustc $version here"
    # The system's own programs must not load what is unpacked here.
    unset LD_LIBRARY_PATH
    offered=$(apt-cache madison rustc-web | awk -v v="$version." 'index($3, v) == 1 { print $3; exit }')
    [ -n "$offered" ] || skip "Debian does not offer rustc-web $version any more"
    # A dry run names the libraries that this machine lacks.
    wanted=$(apt-get install -s -qq --no-install-recommends --allow-downgrades \
        {rustc-web,cargo-web,libstd-rust-web-dev,"libstd-rust-web-$version"}"=$offered" |
        sed -n 's/^Inst \([^ ]*\) .*(\([^ ]*\) .*/\1=\2/p') || skip "apt can't resolve rustc-web $offered"
    rm -rf "$tools"
    mkdir -p "$tools/debs"
    # shellcheck disable=SC2086
    (cd "$tools/debs" && apt-get download -qq -o APT::Sandbox::User=root -o Acquire::Retries=3 $wanted) ||
        skip "rustc-web $offered can't be downloaded"
    for deb in "$tools"/debs/*.deb; do
        dpkg -x "$deb" "$tools"
    done
    rm -rf "$tools/debs"
    export LD_LIBRARY_PATH=$tools/usr/lib/x86_64-linux-gnu:$tools/lib/x86_64-linux-gnu
    if ! "$RUSTC" --version >/dev/null || ! "$cargo" --version >/dev/null; then
        skip "rustc-web $offered does not start"
    fi
fi

"$RUSTC" --version
"$cargo" check --locked "${packages[@]}"
