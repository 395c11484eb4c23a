#!/usr/bin/env bash
# Builds the Python wheel for this machine, and tests it as installed, against the command.
source "$(dirname "$0")/common.sh"

python=$ROOT/.venv/bin/python
target=${CARGO_TARGET_DIR:-$ROOT/target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "building the wheel and the command"
# In the profile of the native tests, whose command serves again.
"$python" -m maturin build --quiet --profile dev --manifest-path python/Cargo.toml \
    --interpreter "$python" --out "$work"
cargo test --quiet --workspace --no-run --test cli
"$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$work/site" "$work"/litecast-*.whl

mkdir "$work/files"
LITECAST_ROOT=$ROOT LITECAST_COMMAND=$target/debug/litecast LITECAST_SCRATCH=$work/files PYTHONPATH=$work/site \
    "$python" -W error "$ROOT/python/tests"
