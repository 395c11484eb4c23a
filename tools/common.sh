# Sourced by the other scripts of this folder: where things are, how to speak, how to install.
# shellcheck shell=bash
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

# What is built once per machine and not per clone (wasm-bindgen).
CACHE=${LITECAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/litecast}
WASM_TARGET=wasm32-unknown-unknown
# Messages of crates name their sources. Without where these lie on this machine, modules have the same bytes on all.
WASM_FLAGS=(--config
    "target.$WASM_TARGET.rustflags=['--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src/=']")
WASM_PACK_VERSION=0.15.1

# What `make test` compiles and runs natively: all but the training of networks, whose libraries (burn, gemm, smartcore)
# compile for five minutes of the processor, and of which nothing is in what is released.
TESTED=(--workspace --exclude litecast-networks)

say() { printf '\n==> %s\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# apt_install PACKAGE...: Debian packages, with the package lists refreshed once when they are stale.
apt_install() {
    has apt-get || fail "missing Debian packages: $* (apt-get is not on this machine; install them by hand)"
    say "installing from Debian: $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2 ||
        { as_root apt-get update -q >&2 &&
          as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2; }
}

# locked_version CRATE: the version that Cargo.lock holds.
locked_version() {
    awk -v name="\"$1\"" '$1 == "name" && $3 == name { getline; gsub(/"/, "", $3); print $3; exit }' Cargo.lock
}

# cargo_install FOLDER CRATE@VERSION [CARGO-ARGUMENT...]: a tool from crates.io in $CACHE/FOLDER, built
# once per machine. These programs run for seconds: without optimisation they compile in less than half of the time.
cargo_install() {
    local folder=$CACHE/$1 build
    shift
    [ -d "$folder" ] && return
    say "building $1 from crates.io (about a minute, once per machine, kept in $CACHE)"
    build=$(mktemp -d)
    local install=(env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u RUSTUP_TOOLCHAIN
        CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=false
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0
        cargo install -q --root "$build/out" --target-dir "$build/target" "$@")
    # A published lock file may name a version that a registry mirror lacks: then cargo chooses.
    "${install[@]}" --locked || "${install[@]}" || { rm -rf "$build"; return 1; }
    mkdir -p "$CACHE"
    # In place when complete, so that an interrupted build leaves nothing.
    mv "$build/out" "$folder"
    rm -rf "$build"
}

# Puts what the wasm build needs on the PATH and chooses the toolchain. Call after `make wasm-toolchain`.
use_wasm_tools() {
    local toolchain
    toolchain=$(cat "$CACHE/wasm-toolchain")
    PATH=$CACHE/wasm-bindgen-$(locked_version wasm-bindgen)/bin:$CACHE/wasm-pack-$WASM_PACK_VERSION/bin:$PATH
    export PATH
    [ "$toolchain" = system ] || export RUSTUP_TOOLCHAIN=$toolchain
}
