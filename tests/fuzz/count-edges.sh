#!/usr/bin/env bash
# As RUSTC_WORKSPACE_WRAPPER: compiles the library so that each edge of its control flow is counted, for
# `tests/fuzz/benches/work.rs`, and every other crate as it is.
case " $* " in
*" --crate-name litecast "*)
    exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
        -Cllvm-args=-sanitizer-coverage-trace-pc-guard -Cllvm-args=-sanitizer-coverage-pc-table
    ;;
esac
exec "$@"
