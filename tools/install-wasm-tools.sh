#!/usr/bin/env bash
# wasm-pack, and wasm-bindgen of exactly the version in Cargo.lock, built from crates.io into
# $CACHE: a few minutes once per machine, and again when the locked version changes.
source "$(dirname "$0")/common.sh"

# These programs run for seconds: compiling them fast matters more than their speed.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=false
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

# A published lock file may name a version that a registry mirror lacks: then cargo chooses.
install() { # CRATE@VERSION [CARGO-ARGUMENT...]
    cargo install -q --root "$build/out" --target-dir "$build/target" --locked "$@" ||
        cargo install -q --root "$build/out" --target-dir "$build/target" "$@"
}

# ensure FOLDER CRATE@VERSION [CARGO-ARGUMENT...]: moved into place when complete, so that an
# interrupted build leaves nothing.
ensure() {
    local folder=$CACHE/$1
    shift
    [ -d "$folder" ] && return
    say "building $1 from crates.io (about 2 minutes, once per machine, kept in $CACHE)"
    install "$@"
    mkdir -p "$CACHE"
    mv "$build/out" "$folder"
}

bindgen_version=$(locked_version wasm-bindgen)
# Without its default features it speaks no TLS, which a driver on the same machine needs not.
ensure "wasm-bindgen-$bindgen_version" "wasm-bindgen-cli@$bindgen_version" --no-default-features
ensure "wasm-pack-$WASM_PACK_VERSION" "wasm-pack@$WASM_PACK_VERSION"
