#!/usr/bin/env bash
# Prints the version of the sources, which Cargo.toml alone states. With a tag, fails unless both and the changelog agree.
source "$(dirname "$0")/../common.sh"

version=$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
if [ -n "${1:-}" ]; then
    [ "$1" = "v$version" ] || fail "expected the tag v$version of Cargo.toml, found $1"
    grep -q "^## \[$version\] - 20[0-9][0-9]-[01][0-9]-[0-3][0-9]$" CHANGELOG.md ||
        fail "expected \"## [$version] - YYYY-MM-DD\" in CHANGELOG.md"
    node tools/release/address.mjs --check
fi
echo "$version"
