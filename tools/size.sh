#!/usr/bin/env bash
# The bytes of modules, of fitted constants and of the npm package, raw and as a server would compress them (gzip -9,
# brotli -q 11). Fails above the limits of the project.
source "$(dirname "$0")/common.sh"

# The first screen should be usable within seconds on a 10 Mbit/s line.
PAGE_LIMIT_BYTES=842500
WASM_LIMIT_BYTES=1277500
# What `npm install litecast` fetches: module and scripts.
PACKAGE_LIMIT_BYTES=1733000
# Read only when somebody has a profile of a device.
DEVICES_LIMIT_BYTES=154000
# Read only when a GPU, or a phone or NPU board, is asked for.
GPU_LIMIT_BYTES=2000000
ACCELERATORS_LIMIT_BYTES=1500000

row() { printf '%-36s %10s %10s %10s\n' "$@"; }

measured() { # FILE: prints its row, leaves its brotli size in $brotli_bytes
    local bytes gzip_bytes
    read -r bytes gzip_bytes brotli_bytes < <(node www/compressed.mjs "$1")
    row "$1" "$bytes" "$gzip_bytes" "$brotli_bytes"
}

within() { # WHAT BYTES LIMIT
    [ "$2" -le "$3" ] || { echo "$1: $2 bytes compressed, expected at most $3"; exit 1; }
}

row file raw gzip brotli
measured target/module/page_bg.wasm
within "module of the page" "$brotli_bytes" "$PAGE_LIMIT_BYTES"
measured target/module/litecast_bg.wasm
wasm_bytes=$brotli_bytes
measured target/module/devices_bg.wasm
within "module of devices" "$brotli_bytes" "$DEVICES_LIMIT_BYTES"
measured bundle/gpu.json
within "constants of GPUs" "$brotli_bytes" "$GPU_LIMIT_BYTES"
measured bundle/accelerators.json
within "constants of phones and NPU boards" "$brotli_bytes" "$ACCELERATORS_LIMIT_BYTES"
package_bytes=$(npm pack --dry-run --json ./pkg 2>/dev/null | node -e 'console.log(JSON.parse(require("fs").readFileSync(0))[0].size)')
row "pkg/, packed by npm" "" "$package_bytes" ""
within "npm package" "$package_bytes" "$PACKAGE_LIMIT_BYTES"
within "module of the package" "$wasm_bytes" "$WASM_LIMIT_BYTES"
