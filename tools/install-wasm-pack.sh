#!/usr/bin/env bash
# wasm-pack, which only tests use. Where wasm-bindgen, Chromium and its driver are installed it downloads nothing.
source "$(dirname "$0")/common.sh"
cargo_install "wasm-pack-$WASM_PACK_VERSION" "wasm-pack@$WASM_PACK_VERSION" --no-default-features ||
    say "wasm-pack was not installed, and tests do without it; by hand: cargo install wasm-pack@$WASM_PACK_VERSION --locked"
