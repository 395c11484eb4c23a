#!/usr/bin/env bash
# .venv: the Python tools that label networks and check ours, exactly as the requirements name them.
source "$(dirname "$0")/common.sh"

requirements=trainer/python/requirements.txt
[ -f "$requirements" ] || exit 0
cmp -s "$requirements" .venv/installed.txt && exit 0
say "installing Python packages into .venv (about a minute the first time)"
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install -q --disable-pip-version-check -r "$requirements"
cp "$requirements" .venv/installed.txt
