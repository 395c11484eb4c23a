#!/usr/bin/env bash
# The page's build tools, exactly as package-lock.json names them.
source "$(dirname "$0")/common.sh"

# npm writes this copy of the lock file last.
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
say "installing npm packages"
npm ci --no-audit --no-fund >&2
touch node_modules/.package-lock.json
