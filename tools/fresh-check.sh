#!/usr/bin/env bash
# Proves both commands on a new clone of the last commit, as a newcomer would run them.
# With LITECAST_CACHE set to an empty folder it also builds wasm-bindgen anew.
source "$(dirname "$0")/common.sh"

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
git clone -q . "$work/litecast"
# Test models that lie beside the repository are found at the same relative place.
[ -d ../shared ] && ln -s "$(realpath ../shared)" "$work/shared"
cd "$work/litecast"
unset CARGO_TARGET_DIR

say "make test in $work/litecast"
time make test
say "make serve"
PORT=${PORT:-8123}
make serve PORT="$PORT" & server=$!
for _ in $(seq 600); do
    sleep 1
    curl -sf "http://127.0.0.1:$PORT/" >"$work/index.html" && break
    kill -0 "$server"
done
grep -q '<title>' "$work/index.html"
say "make serve answers with a page of $(wc -c <"$work/index.html") bytes"
