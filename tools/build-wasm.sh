#!/usr/bin/env bash
# Builds the npm package of the browser's module into pkg/: cargo, wasm-bindgen, binaryen's wasm-opt.
source "$(dirname "$0")/common.sh"

# What rustc's wasm32-unknown-unknown emits, and no more: the result of --all-features does not
# load in browsers.
FEATURES=(--enable-bulk-memory --enable-bulk-memory-opt --enable-multivalue --enable-mutable-globals
    --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext --enable-simd)
# Beside -O1 the module is 6 % smaller, 3 % larger after brotli and as fast; wasm-opt takes some three times as long.
# Until nothing changes any more, it takes twice that and 2 kB off after brotli.
# The passes at the end give short indices to the functions and locals that are named most, which takes off 32 kB.
LEVEL=(-Os --converge --merge-similar-functions --merge-locals --reorder-locals --reorder-functions)

# wasm-opt takes longer than the linker: its result is kept for as long as its input stays the same.
optimise() { # FILE
    local key kept
    key=$({ sha256sum <"$1"; echo "${LEVEL[*]} ${FEATURES[*]}"; node_modules/.bin/wasm-opt --version; } | sha256sum | cut -c1-16)
    kept=target/wasm-opt/$key.wasm
    if ! [ -f "$kept" ]; then
        say "wasm-opt ${LEVEL[*]} on $(stat -c %s "$1") bytes (a minute or two)"
        mkdir -p target/wasm-opt
        node_modules/.bin/wasm-opt "${LEVEL[@]}" --strip-debug --strip-producers "${FEATURES[@]}" "$1" -o "$kept.part"
        mv "$kept.part" "$kept"
    fi
    cp "$kept" "$1"
}

# What Cargo.toml says of the package.
crate() {
    cargo metadata --no-deps --offline --format-version 1 | node -e '
        const { packages } = JSON.parse(require("fs").readFileSync(0));
        console.log(JSON.stringify(packages.find(({ name }) => name === "litecast")));'
}

MODULE=target/module

use_wasm_tools
say "building pkg/"
# Meanwhile, because one crate of tract keeps a single core busy for minutes.
tools/install-wasm-tools.sh &
installing=$!
# At most this much code is inlined at a call in our own crate: at the compiler's own limit of 225 the module has 8 kB
# more after brotli and is as fast; at 100 it has 17 kB less and is 10 % slower.
# What is linked is listed beside the module when it is linked, for tests/package: without that list it is linked again.
LINKED="${CARGO_TARGET_DIR:-target}/$WASM_TARGET/wasm/deps/litecast.wasm"
[ -f "$LINKED.crates" ] || rm -f "$LINKED"
cargo rustc --lib --crate-type cdylib --profile wasm --no-default-features --features tract --target "$WASM_TARGET" -- \
    -C linker="$ROOT/tools/link-wasm.mjs" -C llvm-args=-inline-threshold=170
wait "$installing"
rm -rf "$MODULE"
wasm-bindgen --target web --omit-default-module-path --out-dir "$MODULE" "${CARGO_TARGET_DIR:-target}/$WASM_TARGET/wasm/litecast.wasm"
cp "$LINKED.crates" "$MODULE/"
optimise "$MODULE/litecast_bg.wasm"
CRATE=$(crate) node www/package/build.mjs
say "the module has $(stat -c %s "$MODULE/litecast_bg.wasm") bytes, the packed package $(npm pack --dry-run --json ./pkg 2>/dev/null | node -e 'console.log(JSON.parse(require("fs").readFileSync(0))[0].size)')"
