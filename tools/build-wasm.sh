#!/usr/bin/env bash
# Builds the browser's module and from it the npm package, pkg/: cargo, wasm-bindgen, binaryen's wasm-opt. With --module,
# which is all that the page needs, it builds no package.
source "$(dirname "$0")/common.sh"

# What rustc's wasm32-unknown-unknown emits, and no more: the result of --all-features does not
# load in browsers.
FEATURES=(--enable-bulk-memory --enable-bulk-memory-opt --enable-multivalue --enable-mutable-globals
    --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext --enable-simd)
# LLVM has optimised already. Of binaryen's passes these make the module smaller after brotli. With all those of -Os it is
# 7 % smaller, 3 % larger after brotli and as fast: similar functions differ where each has its own numbers of locals.
PASSES=(--remove-unused-module-elements --duplicate-function-elimination --optimize-instructions --precompute
    --remove-unused-brs --remove-unused-names --merge-blocks --code-folding --vacuum --reorder-locals --reorder-functions)
ORDER=(--reorder-functions-by-name --strip-debug --strip-producers)

# The result is kept for as long as its input stays the same.
optimise() { # FILE
    local key kept
    key=$({ sha256sum <"$1"; cat tools/order-functions.mjs; echo "${PASSES[*]} ${ORDER[*]} ${FEATURES[*]}"
        node_modules/.bin/wasm-opt --version; } | sha256sum | cut -c1-16)
    kept=target/wasm-opt/$key.wasm
    if ! [ -f "$kept" ]; then
        say "wasm-opt on $(stat -c %s "$1") bytes"
        mkdir -p target/wasm-opt
        node_modules/.bin/wasm-opt "${PASSES[@]}" --strip-debug "${FEATURES[@]}" "$1" -o "$kept.part"
        node tools/order-functions.mjs "$kept.part" "$kept.named"
        node_modules/.bin/wasm-opt "${ORDER[@]}" "${FEATURES[@]}" "$kept.named" -o "$kept.part"
        rm "$kept.named"
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
[ "${1:-}" = --module ] && say "building the module" || say "building pkg/"
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
# What makes devices from profiles is a module of its own, which is loaded where somebody has one. In a folder of its own:
# cargo gives both the same name.
cargo rustc --lib --crate-type cdylib --profile wasm --no-default-features --features profiles --target "$WASM_TARGET" \
    --target-dir "${CARGO_TARGET_DIR:-target}/devices"
wait "$installing"
rm -rf "$MODULE"
bind() { wasm-bindgen --target web --omit-default-module-path --out-dir "$MODULE" "$@"; }
bind "${CARGO_TARGET_DIR:-target}/$WASM_TARGET/wasm/litecast.wasm"
bind --out-name devices "${CARGO_TARGET_DIR:-target}/devices/$WASM_TARGET/wasm/litecast.wasm"
cp "$LINKED.crates" "$MODULE/"
optimise "$MODULE/litecast_bg.wasm"
optimise "$MODULE/devices_bg.wasm"
[ "${1:-}" = --module ] && exit
CRATE=$(crate) node www/package/build.mjs
say "the module has $(stat -c %s "$MODULE/litecast_bg.wasm") bytes, the packed package $(npm pack --dry-run --json ./pkg 2>/dev/null | node -e 'console.log(JSON.parse(require("fs").readFileSync(0))[0].size)')"
