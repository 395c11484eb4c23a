#!/usr/bin/env bash
# The compiler of the native tests, as cargo's RUSTC_WORKSPACE_WRAPPER: clippy's driver, which is the compiler with more
# lints. The engine is optimised (Cargo.toml says how), and neither tests nor commands are: the engine is compiled a second
# time for its unit tests, which takes three times as long with optimisation as they run, and commands wait for the engine.
unoptimised=()
for argument; do
    case $argument in --test | bin) unoptimised=(-C opt-level=0) ;; esac
done
exec clippy-driver "$@" "${unoptimised[@]}"
