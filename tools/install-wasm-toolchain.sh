#!/usr/bin/env bash
# Makes sure that some Rust toolchain of this machine builds for wasm32-unknown-unknown, and
# writes its rustup name (or the word "system") to $CACHE/wasm-toolchain.
#
# The toolchain in use is kept when it already links for wasm, or when rustup can add the target.
# Where rustup cannot download, Debian has the parts: its newest rustc with the library source,
# from which std is built for wasm once (about a minute) and linked to rustup as "litecast-wasm".
source "$(dirname "$0")/common.sh"

LINKED_NAME=litecast-wasm
# Seconds after which a rustup that cannot reach its server is given up.
RUSTUP_TIMEOUT_S=120

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# links RUSTC...: does a program that allocates and formats compile and link for wasm?
links() {
    printf '%s\n' '#[unsafe(no_mangle)] pub extern "C" fn n(len: usize) -> usize {' \
        '    format!("{:?}", vec![1u8; len]).len() }' >"$scratch/probe.rs"
    "$@" --edition 2024 --crate-type cdylib --target "$WASM_TARGET" \
        -o "$scratch/probe.wasm" "$scratch/probe.rs" >"$scratch/probe.log" 2>&1
}

choose() {
    mkdir -p "$CACHE"
    echo "$1" >"$CACHE/wasm-toolchain"
    exit 0
}

# The active toolchain's name, "system" for a Rust that did not come from rustup.
active_toolchain() {
    if has rustup; then rustup show active-toolchain | cut -d' ' -f1; else echo system; fi
}

install_debian_rust() {
    [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && [ -d /usr/lib/rustlib/src/rust/library/std ] ||
        apt_install rustc-web cargo-web rust-web-src
    local llvm host
    llvm=$(/usr/bin/rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
    host=$(/usr/bin/rustc -vV | sed -n 's/^host: //p')
    [ -x "/usr/lib/llvm-$llvm/bin/lld" ] || apt_install "lld-$llvm"
    # rustc calls its wasm linker "rust-lld" and looks for it here.
    as_root mkdir -p "/usr/lib/rustlib/$host/bin"
    as_root ln -sfn "/usr/lib/llvm-$llvm/bin/lld" "/usr/lib/rustlib/$host/bin/rust-lld"
}

# std with its bitcode, without which a build with LTO cannot use it, and with `test`, which
# browser tests link.
build_wasm_std() {
    local libdir=/usr/lib/rustlib/$WASM_TARGET/lib
    say "building Rust's standard library for $WASM_TARGET (about a minute)"
    mkdir -p "$scratch/std/src"
    touch "$scratch/std/src/lib.rs"
    printf '[package]\nname = "std-for-wasm"\nedition = "2024"\n[workspace]\n[profile.release]\npanic = "abort"\ncodegen-units = 1\n' \
        >"$scratch/std/Cargo.toml"
    (cd "$scratch/std" && env -u RUSTUP_TOOLCHAIN -u CARGO_ENCODED_RUSTFLAGS \
        RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS='-C embed-bitcode=yes' CARGO_TARGET_DIR="$scratch/std/target" \
        /usr/bin/cargo build -q --release --target "$WASM_TARGET" -Zbuild-std=std,panic_abort,test >&2)
    rm "$scratch/std/target/$WASM_TARGET/release/deps/"libstd_for_wasm-*.rlib
    as_root rm -rf "$libdir"
    as_root mkdir -p "$libdir"
    as_root cp "$scratch/std/target/$WASM_TARGET/release/deps/"*.rlib "$libdir/"
}

links rustc && choose "$(active_toolchain)"
if has rustup; then
    say "adding the Rust target $WASM_TARGET"
    timeout "$RUSTUP_TIMEOUT_S" rustup target add "$WASM_TARGET" >&2 && links rustc && choose "$(active_toolchain)"
    say "rustup could not add $WASM_TARGET; Debian's packages are used instead"
fi
install_debian_rust
links /usr/bin/rustc || build_wasm_std
links /usr/bin/rustc || { cat "$scratch/probe.log" >&2; fail "Debian's Rust does not link for $WASM_TARGET"; }
has rustup || choose system
rustup toolchain link "$LINKED_NAME" /usr >&2
choose "$LINKED_NAME"
