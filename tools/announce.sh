#!/usr/bin/env bash
# Says what a first run will install and build, and how long that takes. Prints nothing when
# everything is there.
source "$(dirname "$0")/common.sh"

missing=()
note() { missing+=("$1"); }

links_for_wasm=$CACHE/wasm-toolchain
[ -f "$links_for_wasm" ] || note "Rust's $WASM_TARGET target"
[ -d "$CACHE/wasm-bindgen-$(locked_version wasm-bindgen)" ] || note "wasm-bindgen-cli (a minute and a half, beside the modules)"
[ -d node_modules ] || note "npm packages (half a minute)"
modules=target/$WASM_TARGET/wasm/deps
[ -f "$modules/page-alone.wasm" ] || [ "$1" = test ] || note "the page's modules, compiled (a minute)"
if [ "$1" = test ]; then
    [ -f "$modules/package.wasm" ] || note "the modules of page and package, compiled (6 minutes)"
    { has chromium && has chromedriver; } || note "Debian's chromium and chromium-driver (1 minute)"
    [ -d .venv ] || note "a Python environment with Arm's Vela and LiteRT (1 minute)"
    [ -d target/debug ] || note "the native crates, compiled (6 minutes)"
fi
[ ${#missing[@]} = 0 ] && exit 0
say "the first run installs or builds, on two cores:"
printf '      %s\n' "${missing[@]}" >&2
printf '    later runs reuse all of it and start within seconds\n' >&2
