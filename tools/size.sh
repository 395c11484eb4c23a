#!/usr/bin/env bash
# The bytes a visitor downloads: the module and the predictor, raw and as a server would compress
# them (gzip -9, brotli -q 11). Fails above the limits of the project.
source "$(dirname "$0")/common.sh"

# The first screen should be usable within seconds on a 10 Mbit/s line.
WASM_LIMIT_BYTES=1200000
PREDICTOR_LIMIT_BYTES=7000000

row() { printf '%-36s %10s %10s %10s\n' "$@"; }

measured() { # FILE: prints its row, leaves its brotli size in $brotli_bytes
    brotli_bytes=$(brotli -q 11 -w 24 -c "$1" | wc -c)
    row "$1" "$(wc -c <"$1")" "$(gzip -9 -c "$1" | wc -c)" "$brotli_bytes"
}

within() { # WHAT BYTES LIMIT
    [ "$2" -le "$3" ] || { echo "$1: $2 bytes after brotli, expected at most $3"; exit 1; }
}

row file raw gzip brotli
measured pkg/litecast_bg.wasm
wasm_bytes=$brotli_bytes
predictor_bytes=0
for file in bundle/*; do
    [ -f "$file" ] || continue
    measured "$file"
    predictor_bytes=$((predictor_bytes + brotli_bytes))
done
within "browser module" "$wasm_bytes" "$WASM_LIMIT_BYTES"
within "predictor" "$predictor_bytes" "$PREDICTOR_LIMIT_BYTES"
