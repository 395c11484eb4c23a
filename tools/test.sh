#!/usr/bin/env bash
# Runs every check and test, in an order that fails early, and ends with one line per step.
source "$(dirname "$0")/common.sh"
use_wasm_tools

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
summary=()
failed=0

# Sums what the runners print: cargo's "test result: ok. 3 passed; 0 failed", those of both packages "# pass 3".
counts() { # LOG
    awk '/^test result:/ { passed += $4; failed += $6; seen = 1 }
         /^(#|ℹ) pass / { passed += $3; seen = 1 }
         /^(#|ℹ) fail / { failed += $3; seen = 1 }
         END { if (seen) printf "%d passed, %d failed", passed, failed }' "$1"
}

step() { # NAME COMMAND...
    local name=$1 started=$SECONDS verdict=ok log
    shift
    log=$logs/$((${#summary[@]})).log
    say "$name"
    "$@" 2>&1 | tee "$log" || { verdict=FAILED; failed=1; }
    summary+=("$(printf '%-28s %-7s %5d s  %s' "$name" "$verdict" $((SECONDS - started)) "$(counts "$log")")")
}

step "format" cargo fmt --all --check
step "clippy" cargo clippy --quiet --workspace --all-targets -- -D warnings
step "third-party crates" tools/deny.sh
step "native tests" cargo test --workspace --no-fail-fast
step "the Action's situations" npm run --silent test:action
step "Python package" tools/test-python.sh
step "browser module" tools/build-wasm.sh
step "browser module's tests" tools/test-browser.sh
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps
step "package" cargo package --quiet --package litecast --no-verify --allow-dirty
step "documents and workflows" npm run --silent test:documents
step "npm package's types" npm run --silent check:package
step "npm package's tests" npm run --silent test:package
step "sockets of command, packages" npm run --silent test:network
step "page types" npm run --silent check:page
step "page" npm run --silent build:page
step "page tests" npm run --silent test:page
step "download sizes" tools/size.sh

# What tests could not do here (see tests/needs), each reason once with how often it came.
skipped=$(cat "$logs"/*.log | sed -n 's/^.*skipped (\([^)]*\)): [^ ]*: \(.*\)$/\1: \2/p; s/^.*# SKIP /page: /p')
printf '\n'
printf '%s\n' "${summary[@]}"
printf 'skipped: %d\n' "$(grep -c . <<<"$skipped")"
[ -z "$skipped" ] || sort <<<"$skipped" | uniq -c
exit $failed
