#!/usr/bin/env bash
# cargo-deny, built from crates.io into $CACHE: a few minutes once per machine.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

CARGO_DENY_VERSION=0.20.2
cargo_install "cargo-deny-$CARGO_DENY_VERSION" "cargo-deny@$CARGO_DENY_VERSION"
