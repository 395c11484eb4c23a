#!/usr/bin/env bash
# Fetches the dataset's tables from where they were uploaded, and keeps them only if they are those of this version:
# trainer/data/SHA256SUMS. Usage: tools/hub/fetch.sh https://huggingface.co/datasets/NAME/litecast/resolve/main
source "$(dirname "$0")/../common.sh"

[ $# = 1 ] || fail "expected the address of the folder that has the tables"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
while read -r _ name; do
    say "$name"
    curl --fail --silent --show-error --location --proto '=https,http' --output "$work/$name" "${1%/}/$name"
done <trainer/data/SHA256SUMS
(cd "$work" && sha256sum --check --strict "$ROOT/trainer/data/SHA256SUMS")
mv "$work"/* trainer/data/
