#!/usr/bin/env bash
# wasm-bindgen of exactly the version in Cargo.lock, with its runner of browser tests.
source "$(dirname "$0")/common.sh"

version=$(locked_version wasm-bindgen)
# Without its default features it speaks no TLS, which a driver on the same machine needs not.
cargo_install "wasm-bindgen-$version" "wasm-bindgen-cli@$version" --no-default-features
