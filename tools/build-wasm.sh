#!/usr/bin/env bash
# Builds the browser's modules and from them the npm package, pkg/: cargo, wasm-bindgen, binaryen's wasm-opt. With --page
# it builds what the page needs, and no package.
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
BUILD=${CARGO_TARGET_DIR:-target}

LINKED=$BUILD/$WASM_TARGET/wasm/deps

# FILE is what the linker writes, which tells modules apart that have one name for cargo. What follows it goes to the
# compiler, and before it the features, which may be none.
compile() { # FEATURES FILE [COMPILER-ARGUMENT...]
    # Where a file of the linker's is missing, it links again.
    [ -f "$LINKED/$2" ] || rm -f "$LINKED/litecast.wasm"
    cargo rustc --lib --crate-type cdylib --profile wasm --no-default-features --features "$1" --target "$WASM_TARGET" \
        "${WASM_FLAGS[@]}" -- -C linker="$ROOT/tools/link-wasm.mjs" "${@:3}"
}

bind() { # NAME FILE
    wasm-bindgen --target web --omit-default-module-path --out-dir "$MODULE" --out-name "$1" "$LINKED/$2"
    optimise "$MODULE/$1_bg.wasm"
}

use_wasm_tools
[ "${1:-}" = --page ] && say "building the page's modules" || say "building pkg/"
# Meanwhile, because our own crate keeps a single core busy for a minute.
tools/install-wasm-tools.sh &
installing=$!
# At most this much code is inlined at a call in our own crate: at the compiler's own limit of 225 the module has 8 kB
# more after brotli and is as fast; at 100 it has 17 kB less and is 10 % slower.
INLINED=(-C llvm-args=-inline-threshold=170)
# No target asks for a trained network. So the page has no use for tract, which compiles for longer than everything else:
# without the package, it is compiled alone, and in parts, of which each core takes some: nobody downloads this one.
alone=
if [ "${1:-}" = --page ]; then
    alone=-alone
    compile "" page-alone.wasm "${INLINED[@]}" -C codegen-units=8
else
    compile tract package.wasm "${INLINED[@]}"
fi
wait "$installing"
rm -rf "$MODULE"
bind page "page$alone.wasm"
# What makes devices from profiles, which is loaded where somebody has one.
bind devices "devices$alone.wasm"
[ "${1:-}" = --page ] && exit
bind litecast package.wasm
cp "$LINKED/package.wasm.crates" "$MODULE/litecast.wasm.crates"
CRATE=$(crate) node www/package/build.mjs
say "the module has $(stat -c %s "$MODULE/litecast_bg.wasm") bytes, the packed package $(npm pack --dry-run --json ./pkg 2>/dev/null | node -e 'console.log(JSON.parse(require("fs").readFileSync(0))[0].size)')"
