#!/usr/bin/env bash
# Tests the Python package against the command: as the native tests built it, or with --wheel as it is released, which
# compiles every crate once more.
source "$(dirname "$0")/common.sh"

python=$ROOT/.venv/bin/python
target=${CARGO_TARGET_DIR:-$ROOT/target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/site" "$work/files"

say "building the package and the command"
# With the features of the native tests, whose crates serve again. An extension module leaves Python's own symbols open.
PYO3_BUILD_EXTENSION_MODULE=1 cargo build --quiet "${TESTED[@]}" --lib --tests
if [ "${1:-}" = --wheel ]; then
    "$python" -m maturin build --quiet --profile dev --manifest-path python/Cargo.toml \
        --interpreter "$python" --out "$work"
    "$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$work/site" \
        "$work"/litecast-*.whl
else
    cp -r python/litecast "$work/site/"
    find "$target/debug" -maxdepth 1 \( -name liblitecast_native.so -o -name liblitecast_native.dylib \) \
        -exec cp {} "$work/site/litecast/_native.abi3.so" \;
fi

LITECAST_ROOT=$ROOT LITECAST_COMMAND=$target/debug/litecast LITECAST_SCRATCH=$work/files PYTHONPATH=$work/site \
    "$python" -W error "$ROOT/python/tests"
