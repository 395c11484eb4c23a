#!/usr/bin/env bash
# Runs tests/web in headless Chromium, as `wasm-pack test --headless --chrome` does, with the dependencies that the module of
# the page has (`--profile wasm`), whose machine code both share. Our own crate is compiled once more for tests, without
# optimisation.
source "$(dirname "$0")/common.sh"
use_wasm_tools
export CHROMEDRIVER=${CHROMEDRIVER:-/usr/bin/chromedriver}
OURS=(--profile wasm "${WASM_FLAGS[@]}" --config profile.wasm.package.litecast.opt-level=0 --config profile.wasm.package.litecast.codegen-units=16)

if has wasm-pack; then
    exec wasm-pack test --headless --chrome -- "${OURS[@]}"
fi
echo "skipped (wasm-pack): wasm-pack-test: no wasm-pack on the PATH (make wasm-tools installs it)"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=wasm-bindgen-test-runner
exec cargo test --target "$WASM_TARGET" "${OURS[@]}" --no-default-features --features tract --test web
