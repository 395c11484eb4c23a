#!/usr/bin/env bash
# install-qemu.sh [litert|tflite-2.9]: .tools/litert-qemu or .tools/tflite-2.9-qemu, an arm64 Python with a
# runtime, and QEMU's plugin that counts instructions. Built once per machine into $CACHE (200 MB on disk, about
# a minute) and linked from here. Labels are of LiteRT. TensorFlow Lite 2.9 has the kernels of XNNPACK of early
# 2022, with which some networks were measured on boards.
#
# Folder: root/ Debian's arm64 files and LiteRT; cortex-a72/ and cortex-a76/ the same as seen on a
# board with that processor; counter.so the plugin; environment a name of all of that.
#
# No Debian package installs the header of the plugin interface. It is taken from Debian's source package of
# the emulator while the plugin is built, and not kept: it is under the GPL, version 2 or later.
source "$(dirname "$0")/common.sh"

RUNTIME=${1:-litert}
LINK=.tools/$RUNTIME-qemu
# Whatever the machine runs, the guest is the Debian whose Python the wheels are for.
case $RUNTIME in
litert) DEBIAN_RELEASE=bookworm PYTHON=3.11 LIBFFI=libffi8 ;;
tflite-2.9) DEBIAN_RELEASE=bullseye PYTHON=3.9 LIBFFI=libffi7 ;;
*) fail "expected litert or tflite-2.9, found $RUNTIME" ;;
esac
GUEST_PACKAGES=("python$PYTHON-minimal" "libpython$PYTHON-minimal" "libpython$PYTHON-stdlib"
    libc6 libgcc-s1 libstdc++6 libexpat1 "$LIBFFI" zlib1g)
# The source package with the header, of whatever release: the plugin runs here, not in the guest.
QEMU_RELEASE=bookworm

identity=$(cat trainer/qemu/* tools/install-qemu.sh | sha256sum | cut -c1-16)
folder=$CACHE/$RUNTIME-qemu-$identity

# The plugin speaks version 1 of QEMU's plugin interface, which 9.0 no longer offers.
check_emulator() {
    local version
    version=$(qemu-aarch64 --version | sed -n 's/^qemu-aarch64 version \([0-9]*\)\..*/\1/p')
    [ "${version:-0}" -ge 5 ] && [ "$version" -le 8 ] ||
        fail "expected qemu-aarch64 of version 5 to 8 (Debian 12 has 7.2), found ${version:-none}"
}

# download FOLDER: the guest's arm64 packages and the emulator's source package, by an apt that knows nothing
# of this machine's packages.
download() {
    local apt=$1 kind
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    : >"$apt/status"
    for kind in "deb $DEBIAN_RELEASE" "deb-src $QEMU_RELEASE"; do
        echo "${kind% *} [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
            "http://deb.debian.org/debian ${kind#* } main"
    done >"$apt/sources.list"
    local options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o APT::Sandbox::User= -o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status"
        -o Dir::Cache="$apt" -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=-)
    apt-get "${options[@]}" update >&2
    (cd "$apt" && apt-get "${options[@]}" download "${GUEST_PACKAGES[@]}" >&2)
    (cd "$apt" && apt-get "${options[@]}" source --download-only qemu >&2)
}

# build_plugin APT FOLDER: FOLDER/counter.so.
build_plugin() {
    local include=$1/include
    mkdir -p "$include"
    tar -xJf "$1"/qemu_*.orig.tar.xz -C "$include" --strip-components=3 --wildcards \
        '*/include/qemu/qemu-plugin.h'
    gcc -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -isystem "$include" \
        -o "$2/counter.so" trainer/qemu/count_instructions.c
}

# board FOLDER PART FEATURES: the guest's files beside a /proc/cpuinfo of four cores of this part,
# by which XNNPACK chooses the kernels that it would run on the board. Without it, it would read
# the description of the machine that emulates.
board() {
    local core
    mkdir -p "$1/proc" "$1/sys/devices/system/cpu"
    ln -s ../root/{etc,lib,usr} "$1/"
    echo 0-3 | tee "$1/sys/devices/system/cpu/possible" >"$1/sys/devices/system/cpu/present"
    for core in 0 1 2 3; do
        printf '%s\t: %s\n' processor $core Features "$3" 'CPU implementer' 0x41 \
            'CPU architecture' 8 'CPU variant' 0x0 'CPU part' "$2" 'CPU revision' 3
        echo
    done >"$1/proc/cpuinfo"
}

# compile FOLDER: fills Python's cache of modules by a worker that nobody asks, so that the first
# process finds what all others find: what compiling leaves in memory changes counts.
compile() {
    local worker
    worker=$(cat trainer/python/litert_qemu_worker.py)
    (cd "$1" && env -i PATH="$PATH" \
        qemu-aarch64 -cpu cortex-a76 -L cortex-a76 "root/usr/bin/python$PYTHON" -c "$worker" - \
        </dev/null >/dev/null)
}

build() { # FOLDER
    local package
    mkdir -p "$1/root"
    download "$1/apt"
    build_plugin "$1/apt" "$1"
    for package in "$1"/apt/*.deb; do dpkg -x "$package" "$1/root"; done
    rm -rf "$1/apt" "$1/root/usr/share"
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-compile \
        --only-binary :all: --python-version "$PYTHON" \
        --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux_2_27_aarch64 \
        --target "$1/root/usr/lib/python$PYTHON/dist-packages" -r "trainer/qemu/$RUNTIME.txt"
    board "$1/cortex-a72" 0xd08 'fp asimd evtstrm crc32 cpuid'
    board "$1/cortex-a76" 0xd0b 'fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp'
    compile "$1"
    echo "$identity" >"$1/environment"
}

{ has qemu-aarch64 && has gcc && has setarch && has xz && has dpkg-source; } ||
    apt_install qemu-user gcc util-linux xz-utils dpkg-dev
check_emulator
if [ ! -d "$folder" ]; then
    say "installing $RUNTIME for arm64 under QEMU (about a minute, once per machine, kept in $CACHE)"
    mkdir -p "$CACHE"
    scratch=$(mktemp -d "$CACHE/unfinished.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    build "$scratch/new"
    mv "$scratch/new" "$folder"
fi
mkdir -p "$(dirname "$LINK")"
ln -sfn "$folder" "$LINK"
