#!/usr/bin/env bash
# Runs every check and test, in an order that fails early, and ends with one line per step. What needs the browser's module
# runs beside native tests, in a folder of its own to build in, and the page's tests, which mostly wait, beside both.
source "$(dirname "$0")/common.sh"
use_wasm_tools

logs=$(mktemp -d)
beside=
trap '[ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true; rm -rf "$logs"' EXIT

# Sums what the runners print: cargo's "test result: ok. 3 passed; 0 failed", those of both packages "# pass 3".
counts() { # LOG
    awk '/^test result:/ { passed += $4; failed += $6; seen = 1 }
         /^(#|ℹ) pass / { passed += $3; seen = 1 }
         /^(#|ℹ) fail / { failed += $3; seen = 1 }
         END { if (seen) printf "%d passed, %d failed", passed, failed }' "$1"
}

# Of the last line that `time` wrote: what a step and all that it waited for took of the processor.
TIMEFORMAT='%U %S'
cpu_seconds() { # FILE
    awk 'END { printf "%.0f", $1 + $2 }' "$1"
}

# Leaves NUMBER.log and NUMBER.verdict, in whose order the summary is. Says how far the run is.
N_STEPS=$(grep -c "\bstep [1-9][0-9] \"" "$0")
step() { # NUMBER NAME COMMAND...
    local log=$logs/$1.log verdict=$logs/$1.verdict name=$2 started=$SECONDS result=ok
    shift 2
    say "$name ($(find "$logs" -name '*.verdict' | wc -l) of $N_STEPS steps done in $((SECONDS / 60)) min)"
    # In a shell of its own, whose time has nothing of what runs beside it.
    (time "$@" 2>&1 | tee "$log") 2>"$log.time" || result=FAILED
    printf '%-28s %-7s %5d s %7s cpu-s  %s\n' "$name" "$result" $((SECONDS - started)) "$(cpu_seconds "$log.time")" \
        "$(counts "$log")" >"$verdict"
}

# Waits until a step has ended.
await() { # NUMBER
    until [ -f "$logs/$1.verdict" ]; do sleep 1; done
}

browser() {
    step 19 "browser module" tools/build-wasm.sh
    page >"$logs/page.out" 2>&1 &
    step 23 "wasm-pack" tools/install-wasm-pack.sh
    step 24 "browser module's tests" tools/test-browser.sh
    step 25 "npm package's types" npm run --silent check:package
    # What follows compares with the command, and tests it.
    await 11
    step 26 "npm package's tests" npm run --silent test:package
    step 27 "download sizes" tools/size.sh
    step 28 "the Action's situations" npm run --silent test:action
    RUSTC_WORKSPACE_WRAPPER=$NATIVE_COMPILER step 29 "Python package" tools/test-python.sh
    step 30 "package" cargo package --quiet --package litecast --no-verify --allow-dirty
    wait
    cat "$logs/page.out"
}

page() {
    step 20 "page types" npm run --silent check:page
    step 21 "page" npm run --silent build:page
    step 22 "page tests" npm run --silent test:page
}

NATIVE_COMPILER=$ROOT/tools/compile-for-tests.sh

# Compiles what the native tests run, and no crate of others a second time, as `cargo clippy` does. A warning of what was
# compiled before is printed again.
lint() {
    local log=$logs/lint
    cargo test "${TESTED[@]}" --all-targets --no-run 2>&1 | tee "$log" && ! grep '^warning: ' "$log"
}

native() {
    # What the compiler does not wait for.
    step 14 "Python environment" tools/install-python.sh &
    step 10 "format" cargo fmt --all --check
    export RUSTC_WORKSPACE_WRAPPER=$NATIVE_COMPILER
    step 11 "clippy, and compiling" lint
    await 14
    step 12 "third-party crates" tools/deny.sh
    step 13 "native tests" cargo test "${TESTED[@]}" --no-fail-fast
}

say "what needs the browser's module, packages and Action run beside these steps, and are printed after them"
# In a process group of its own, which ends with this script.
set -m
browser >"$logs/browser.out" 2>&1 </dev/null &
beside=$!
set +m
native
wait "$beside"
beside=
cat "$logs/browser.out"

step 40 "documents and workflows" npm run --silent test:documents
step 41 "sockets of command, packages" npm run --silent test:network

# What tests could not do here (see tests/needs), each reason once with how often it came.
skipped=$(cat "$logs"/*.log | sed -n 's/^.*skipped (\([^)]*\)): [^ ]*: \(.*\)$/\1: \2/p; s/^.*# SKIP /page: /p')
printf '\n'
cat "$logs"/*.verdict
printf 'skipped: %d\n' "$(grep -c . <<<"$skipped")"
[ -z "$skipped" ] || sort <<<"$skipped" | uniq -c
! grep -q ' FAILED ' "$logs"/*.verdict
