#!/usr/bin/env bash
# Installs what the other scripts need and a bare Debian with rustup lacks.
. "$(dirname "$0")/setup.sh"

packages=(ca-certificates git gcc g++ gcc-multilib libc6-dev jq pkg-config shellcheck valgrind ghc ghc-prof libghc-ghc-events-dev)
missing=()
for p in "${packages[@]}"; do
    dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$p")
done

retry() {
    local n
    for n in 1 2 3; do
        "$@" && return 0
        echo "attempt $n failed: $*" >&2
        sleep $((n * 5))
    done
    return 1
}

# The MSRV check asks for the newest lists as well, so they are fetched even when nothing is missing.
apt_update() { apt-get update -qq -o Acquire::Retries=3; }
apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Acquire::Retries=3 \
        -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
}
if [ "$(id -u)" = 0 ]; then
    step "apt-get update" retry apt_update
    if [ ${#missing[@]} -gt 0 ]; then
        step "apt-get install ${missing[*]}" retry apt_install
    fi
elif [ ${#missing[@]} -gt 0 ]; then
    die "install these as root: ${missing[*]}"
fi

cargo fuzz --version >/dev/null 2>&1 || CARGO_TARGET_DIR=$TARGET/install step "cargo install cargo-fuzz" \
    retry cargo install --locked --quiet cargo-fuzz

rustc --version
rustc +nightly --version
ghc --version
