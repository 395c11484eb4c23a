#!/usr/bin/env bash
# Rehearses a release as far as this machine can: packs what is published, installs each package into an empty folder
# without the sources, runs the first example of its README there, and times both.
# Usage: tools/release-rehearsal.sh [command] [npm] [wheel] [crate] [checks]; all where none is named.
source "$(dirname "$0")/common.sh"

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(command npm wheel crate checks)
version=$(tools/release/version.sh)
dist=$ROOT/target/rehearsal
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dist"
results=()

# An empty folder with a model; what runs in it has a home of its own.
folder() { # NAME
    mkdir -p "$work/$1/home"
    cp www/examples/cnn-kws-s7-i43.tflite "$work/$1/model.tflite"
    echo "$work/$1"
}

# The first fenced block of a language in a document.
example() { # LANGUAGE FILE
    awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ && on { exit } on' "$2"
}

# Runs commands in a folder, and keeps how long they took.
timed() { # NAME FOLDER COMMAND...
    local name=$1 folder=$2 started ended
    shift 2
    started=$(date +%s%N)
    (cd "$folder" && HOME=$folder/home "$@") || fail "$name failed"
    ended=$(date +%s%N)
    results+=("$(printf '%-44s %6.1f s' "$name" "$(((ended - started) / 1000000))e-3")")
}

rehearse_command() {
    local cpu
    for cpu in "$(uname -m)"; do
        tools/release/pack-command.sh "$cpu-unknown-linux-musl" "$dist"
        local archive=$dist/litecast-v$version-$cpu-unknown-linux-musl.tar.gz here
        here=$(folder "command-$cpu")
        # shellcheck disable=SC2016
        timed "command, $cpu: unpack, first estimate" "$here" bash -c '
            tar -xzf "$1" --strip-components 1
            ! ldd ./litecast 2>/dev/null || { echo "expected a static program" >&2; exit 1; }
            PATH=$PWD:$PATH
            eval "$2"' _ "$archive" "$(grep -m1 "^litecast predict" README.md)"
    done
}

rehearse_npm() {
    [ -f pkg/package.json ] || make --no-print-directory wasm
    local here archive
    here=$(folder npm)
    archive=$(cd "$dist" && npm pack --silent "$ROOT/pkg")
    example js www/package/README.md >"$here/example.mjs"
    # shellcheck disable=SC2016
    timed "npm: install, first estimate" "$here" bash -c '
        npm install --no-audit --no-fund --loglevel error --prefix . "$1" && node example.mjs' _ "$dist/$archive"
}

rehearse_wheel() {
    tools/release/pack-wheel.sh "$(uname -m)-unknown-linux-musl" "$dist"
    local here
    here=$(folder wheel)
    example python python/README.md >"$here/example.py"
    # shellcheck disable=SC2016
    timed "wheel: environment, install, first estimate" "$here" bash -c '
        python3 -m venv env && env/bin/pip install -q --no-index --find-links "$1" litecast && env/bin/python example.py' _ "$dist"
}

rehearse_crate() {
    cargo package --quiet --locked --package litecast --no-verify --allow-dirty --target-dir "$dist/crate"
    timed "crate: compile, run the documentation" "$ROOT" tools/test-crate.sh
}

rehearse_checks() {
    local python=$work/checks/bin/python wheels=("$dist"/litecast-*.whl)
    if [ -e "${wheels[0]}" ]; then
        python3 -m venv "$work/checks"
        "$python" -m pip install -q --disable-pip-version-check twine
        "$python" -m twine check --strict "${wheels[@]}"
    fi
    if [ -f pkg/package.json ]; then
        node_modules/.bin/publint --strict pkg
        node_modules/.bin/attw --pack pkg --profile esm-only
    fi
    # Before the first release there is nothing that a change could break.
    if cargo info --quiet "litecast@<$version" >/dev/null 2>&1; then
        cargo_install cargo-semver-checks cargo-semver-checks
        "$CACHE/cargo-semver-checks/bin/cargo-semver-checks" semver-checks --package litecast
    else
        echo "skipped (release): cargo-semver-checks: crates.io has no earlier version" >&2
    fi
}

for part in "${parts[@]}"; do "rehearse_$part"; done
(cd "$dist" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\0' | sort -z | xargs -0 sha256sum >SHA256SUMS)
printf '\n'
[ ${#results[@]} = 0 ] || printf '%s\n' "${results[@]}"
