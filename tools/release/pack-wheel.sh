#!/usr/bin/env bash
# Builds the wheels for a target of platforms.json into FOLDER: one for every Python from 3.10 on, on Linux one for glibc
# and one for musl. Usage: tools/release/pack-wheel.sh TARGET FOLDER
source "$(dirname "$0")/../common.sh"

target=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
[ -x .venv/wheel/bin/python ] || [ -x .venv/wheel/Scripts/python.exe ] || python3 -m venv .venv/wheel
python=.venv/wheel/bin/python
[ -x "$python" ] || python=.venv/wheel/Scripts/python.exe
"$python" -m pip install -q --disable-pip-version-check "maturin==$(sed -n 's/^maturin==//p' trainer/python/requirements.txt)"
build() { "$python" -m maturin build --quiet --release --locked --manifest-path python/Cargo.toml --out "$out" "$@"; }

case $target in
*-linux-*)
    # Zig links against the oldest glibc that is promised, and against musl, on any machine.
    "$python" -m pip install -q --disable-pip-version-check ziglang==0.15.1
    cpu=${target%%-*}
    rustup target add "$cpu-unknown-linux-gnu" "$cpu-unknown-linux-musl"
    build --zig --target "$cpu-unknown-linux-gnu" --compatibility manylinux_2_28
    # A shared library of musl's target is linked dynamically.
    RUSTFLAGS="-C target-feature=-crt-static" build --zig --target "$cpu-unknown-linux-musl" --compatibility musllinux_1_2
    ;;
*) build --target "$target" ;;
esac
say "$(cd "$out" && ls ./*.whl)"
