#!/usr/bin/env bash
# Debian packages that the tests use and this machine lacks.
source "$(dirname "$0")/common.sh"

packages=()
has chromium || packages+=(chromium)
# A part of it that tests run faster in. Not every Debian has it.
has chromium-headless-shell || [ -z "$(apt-cache show chromium-headless-shell 2>/dev/null)" ] || packages+=(chromium-headless-shell)
has firefox-esr || packages+=(firefox-esr)
has chromedriver || packages+=(chromium-driver)
has strace || packages+=(strace)
has cc || packages+=(build-essential)
# Debian's python3 comes without what makes an environment.
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
[ ${#packages[@]} = 0 ] || apt_install "${packages[@]}"
