#!/usr/bin/env bash
# The share of public items that are documented: engine, trainer and networks as rustdoc counts them, page and npm package as
# tests/documents/exports.test.mjs does.
set -euo pipefail
cd "$(dirname "$0")/.."

# rustdoc alone gets the option of the nightly compiler, so that nothing is compiled again.
mkdir -p target
cat > target/rustdoc-coverage <<'WRAPPER'
#!/bin/sh
case " $* " in
*" --crate-name litecast"*) RUSTC_BOOTSTRAP=1 exec rustdoc "$@" -Z unstable-options --show-coverage ;;
*) exec rustdoc "$@" ;;
esac
WRAPPER
chmod +x target/rustdoc-coverage
for package in litecast litecast-trainer litecast-networks; do
    echo "$package:"
    RUSTDOC="$PWD/target/rustdoc-coverage" cargo doc --quiet --no-deps --lib "$@" --package "$package" | grep -E '^\| (File|Total)'
done
node --test tests/documents/exports.test.mjs | grep -o 'www/.* exports'
