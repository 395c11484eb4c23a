#!/usr/bin/env bash
# Compares what two builds of the command report of the same models, byte by byte: for changes that must not change any
# report. Prints the models whose reports differ, and fails if there are any.
#   tools/compare-reports.sh OLD_COMMAND NEW_COMMAND [FILE_OR_FOLDER...]
# Without files: the models of ../shared and the page's examples.
source "$(dirname "$0")/common.sh"

[ $# -ge 2 ] || fail "expected OLD_COMMAND NEW_COMMAND [FILE_OR_FOLDER...]"
old=$1 new=$2
shift 2
[ $# -gt 0 ] || set -- ../shared/models ../shared/models-mcu www/examples

n_models=0 n_different=0
while IFS= read -r -d '' model; do
    n_models=$((n_models + 1))
    # A model without a report has an error in its place, and an exit code of 1.
    before=$("$old" predict --json "$model" 2>&1) || true
    after=$("$new" predict --json "$model" 2>&1) || true
    [ "$before" = "$after" ] && continue
    n_different=$((n_different + 1))
    echo "$model"
done < <(find -L "$@" -type f \( -name '*.tflite' -o -name '*.onnx' -o -name '*.json' \) -print0 | sort -z)

[ "$n_models" -gt 0 ] || fail "no models in $*"
echo "$n_models models, $n_different with another report"
[ "$n_different" = 0 ]
