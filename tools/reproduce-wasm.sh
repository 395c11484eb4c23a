#!/usr/bin/env bash
# Builds the browser's module of the last commit again, in a new clone at another path with another home of cargo, and
# compares it byte by byte with that of this checkout: some ten minutes.
source "$(dirname "$0")/common.sh"

[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "commit first: the clone has the last commit"
tools/build-wasm.sh
again=$(mktemp -d)
trap 'rm -rf "$again"' EXIT
git clone --quiet . "$again/litecast"
ln -s "$PWD/node_modules" "$again/litecast/node_modules"
[ ! -e .tools ] || ln -s "$(readlink -f .tools)" "$again/litecast/.tools"
mkdir "$again/cargo"
ln -s "$(readlink -f "${CARGO_HOME:-$HOME/.cargo}")/registry" "$again/cargo/registry"
(cd "$again/litecast" && env -u CARGO_TARGET_DIR CARGO_HOME="$again/cargo" tools/build-wasm.sh)
for module in page devices litecast; do
    sha256sum "target/module/${module}_bg.wasm" "$again/litecast/target/module/${module}_bg.wasm"
    cmp "target/module/${module}_bg.wasm" "$again/litecast/target/module/${module}_bg.wasm" || fail "two builds of $module differ"
done
say "both builds have the same bytes"
