#!/usr/bin/env bash
# Builds the npm package of the browser's module into pkg/: wasm-pack, then binaryen's wasm-opt.
source "$(dirname "$0")/common.sh"

# What rustc's wasm32-unknown-unknown emits, and no more: the result of --all-features does not
# load in browsers.
FEATURES=(--enable-bulk-memory --enable-bulk-memory-opt --enable-multivalue --enable-mutable-globals
    --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext --enable-simd)
# Measured after brotli, the higher levels make the module larger and take three times as long.
LEVEL=-O1

# wasm-opt takes longer than the linker: its result is kept for as long as its input stays the same.
optimise() { # FILE
    local key kept
    key=$({ sha256sum <"$1"; echo "$LEVEL ${FEATURES[*]}"; node_modules/.bin/wasm-opt --version; } | sha256sum | cut -c1-16)
    kept=target/wasm-opt/$key.wasm
    if ! [ -f "$kept" ]; then
        say "wasm-opt $LEVEL on $(stat -c %s "$1") bytes (about half a minute)"
        mkdir -p target/wasm-opt
        node_modules/.bin/wasm-opt "$LEVEL" --strip-debug --strip-producers "${FEATURES[@]}" "$1" -o "$kept.part"
        mv "$kept.part" "$kept"
    fi
    cp "$kept" "$1"
}

use_wasm_tools
say "building pkg/ with wasm-pack"
wasm-pack build --mode no-install --target web --out-dir pkg --profile wasm --no-opt -- \
    --no-default-features
optimise pkg/litecast_bg.wasm
say "pkg/litecast_bg.wasm: $(stat -c %s pkg/litecast_bg.wasm) bytes"
