#!/usr/bin/env bash
# The compiler of the native tests, as cargo's RUSTC_WORKSPACE_WRAPPER: clippy's driver, which is the compiler with more
# lints. What tests call is optimised (Cargo.toml says what), and tests are not: the engine is compiled a second time for
# its unit tests, which takes three times as long with optimisation as they run.
unoptimised=()
for argument; do
    [ "$argument" != --test ] || unoptimised=(-C opt-level=0)
done
exec clippy-driver "$@" "${unoptimised[@]}"
