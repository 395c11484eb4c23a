#!/usr/bin/env bash
# Prints the section of CHANGELOG.md for the version of the sources: the notes of its release.
source "$(dirname "$0")/../common.sh"

version=$(tools/release/version.sh)
notes=$(awk -v heading="## [$version]" 'index($0, "## [") == 1 { on = index($0, heading) == 1; next } on' CHANGELOG.md)
[ -n "$notes" ] || fail "CHANGELOG.md has no section for $version"
echo "$notes"
