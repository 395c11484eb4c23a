#!/usr/bin/env bash
# Builds the documentation site into www/docs. Usage: tools/site/build.sh [COMMAND]: a litecast that is built already.
source "$(dirname "$0")/../common.sh"

command=${1:-${CARGO_TARGET_DIR:-target}/release/litecast}
[ -x "$command" ] || cargo build --release --bin litecast
work=$ROOT/target/site
mkdir -p "$work/operators"
if ! cmp -s tools/site/requirements.txt "$work/installed.txt"; then
    say "installing the generator of the documentation"
    python3 -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install -q --disable-pip-version-check -r tools/site/requirements.txt
    cp tools/site/requirements.txt "$work/installed.txt"
fi
.venv/bin/python tests/analysis_oracle.py operators "$work/operators" >/dev/null
node tools/site/generate.mjs "$command" "$work/operators" "$work/docs"
(cd "$work" && venv/bin/zensical build --clean --strict -f zensical.toml)
node tools/site/check.mjs "$work/site"
rm -rf www/docs
cp -r "$work/site" www/docs
say "www/docs has the documentation; it needs no other host, and may lie at any path"
