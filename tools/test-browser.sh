#!/usr/bin/env bash
# Runs tests/web in headless Chromium, as `wasm-pack test --headless --chrome` does, but compiled like the module of the
# page (`--profile wasm`), so that both share the machine code of their dependencies.
source "$(dirname "$0")/common.sh"
use_wasm_tools
export CHROMEDRIVER=${CHROMEDRIVER:-/usr/bin/chromedriver}
if has wasm-pack; then
    exec wasm-pack test --headless --chrome -- --profile wasm
fi
echo "skipped (wasm-pack): wasm-pack-test: no wasm-pack on the PATH (make wasm-tools installs it)"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=wasm-bindgen-test-runner
exec cargo test --target "$WASM_TARGET" --profile wasm --no-default-features --features tract --test web
