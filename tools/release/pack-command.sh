#!/usr/bin/env bash
# Builds the native command for a target of platforms.json and packs it into FOLDER, with its manual, completions,
# licences and bill of materials. Usage: tools/release/pack-command.sh TARGET FOLDER
source "$(dirname "$0")/../common.sh"

target=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
version=$(tools/release/version.sh)
name=litecast-v$version-$target
built=${CARGO_TARGET_DIR:-target}/$target/release

# The C compiler of the machine takes the headers of glibc.
case $target in
*-linux-musl) has musl-gcc || apt_install musl-tools; export "CC_${target//-/_}=musl-gcc" ;;
esac
case $target in
*-windows-*) command=litecast.exe archive=$name.zip ;;
*) command=litecast archive=$name.tar.gz ;;
esac
cargo build --release --locked --package litecast --bin litecast --target "$target"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$work/$name
mkdir -p "$folder/completions"
cp "$built/$command" LICENSE NOTICE README.md CHANGELOG.md "$folder/"
# A target whose programs do not run here has the manual and the completions of one that does.
runs=$folder/$command
"$runs" --version >/dev/null 2>&1 || runs=${LITECAST_COMMAND:?expected a command that runs here, for the manual}
"$runs" man >"$folder/litecast.1"
for shell in bash elvish fish powershell zsh; do "$runs" completions "$shell" >"$folder/completions/litecast.$shell"; done
node tools/release/sbom.mjs "$target" >"$folder/sbom.cdx.json"

# The same sources make the same archive: names in order, one time, no owner.
cd "$work"
find "$name" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-0}" {} +
case $archive in
*.zip) 7z a -bd "$out/$archive" "$name" >/dev/null ;;
*)
    # macOS' own tar knows no order of names.
    tar=tar
    has gtar && tar=gtar
    "$tar" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$out/$archive"
    ;;
esac
say "$archive has $(wc -c <"$out/$archive") bytes"
