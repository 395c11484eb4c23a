#!/usr/bin/env bash
# Checks third-party crates against deny.toml: licences, sources and bans from what cargo has, and
# security advisories where RustSec's database can be fetched.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/install-deny.sh"

deny() { "$CACHE/cargo-deny-$CARGO_DENY_VERSION/bin/cargo-deny" --workspace --all-features "$@"; }

deny check bans licenses sources
if deny fetch db >/dev/null 2>&1; then
    deny check advisories
else
    # CI has the network: there a database that cannot be fetched is a failure.
    [ -z "${LITECAST_EXPECTED_NEEDS:-}" ] || [[ ",$LITECAST_EXPECTED_NEEDS," != *,network,* ]] ||
        fail "RustSec's advisory database cannot be fetched"
    echo "skipped (network): deny: RustSec's advisory database cannot be fetched here" >&2
fi
