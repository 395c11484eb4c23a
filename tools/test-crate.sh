#!/usr/bin/env bash
# Packs the crate, and compiles it and runs the programs of its documentation from the archive alone, without a network.
source "$(dirname "$0")/common.sh"

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$ROOT/target}
cargo package --quiet --package litecast --no-verify --allow-dirty
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=$(ls -t "$CARGO_TARGET_DIR"/package/litecast-*.crate | head -1)
tar -xzf "$archive" -C "$work" --strip-components 1
say "$(basename "$archive") has $(stat -c %s "$archive") bytes"

cd "$work"
say "the command and the examples"
cargo check --quiet --offline --locked --bins --examples
# With the features of the Python package, whose compiled crates serve again.
say "documentation, with the constants of GPUs"
cargo test --quiet --offline --locked --doc --no-default-features --features bundle,tract
say "documentation, without a network to run: rules and processors alone"
cargo test --quiet --offline --locked --doc --no-default-features
