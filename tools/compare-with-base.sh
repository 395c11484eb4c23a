#!/usr/bin/env bash
# Writes a table of what a change does to the models of a repository: the step of action.yml that can be run, and
# tested, without GitHub. In the repository's root, with these variables:
#   MODELS      folder or file, relative to the root
#   BASE        commit to compare with; without it, all models are new
#   TARGETS     ids, separated by spaces; all targets where empty
#   LITECAST    the command; that which action.yml built where empty
set -euo pipefail

litecast=${LITECAST:-$RUNNER_TEMP/litecast/bin/litecast}
scratch=$(mktemp -d "${RUNNER_TEMP:-/tmp}/litecast.XXXXXX")
table=$scratch/table.md
mkdir "$scratch/before" "$scratch/after"

# Of a push of a new branch, GitHub gives a commit of zeros.
if [ -n "${BASE:-}" ] && [ -n "${BASE//0/}" ]; then
    git cat-file -e "$BASE^{commit}" 2>/dev/null || git fetch --quiet --depth 1 origin "$BASE"
    # A change may add the first model.
    if [ -n "$(git ls-tree --name-only "$BASE" -- "$MODELS")" ]; then
        git archive "$BASE" -- "$MODELS" | tar -x -C "$scratch/before"
    fi
fi
[ ! -e "$MODELS" ] || cp -R --parents "$MODELS" "$scratch/after"

# A link that a change adds may lead to any file of this machine.
n_links=0
for side in "$scratch/before" "$scratch/after"; do
    while IFS= read -r -d '' link; do
        case $(realpath -m -- "$link") in
        "$(realpath -- "$side")"/*) ;;
        *)
            printf 'left out: %q leads out of the models\n' "${link#"$side/"}" >&2
            rm -- "$link"
            n_links=$((n_links + 1))
            ;;
        esac
    done < <(find "$side" -type l -print0)
done

options=()
for target in ${TARGETS:-}; do options+=("--target=$target"); done

# 1: a file has no report, which the table says, too. Anything else is not about the models.
status=0
[ "$n_links" = 0 ] || status=1
"$litecast" compare --markdown "${options[@]}" "$scratch/before" "$scratch/after" >"$scratch/changes.md" || status=$?
[ "$status" -le 1 ] || exit "$status"
{
    echo "### What this change does to the models"
    cat "$scratch/changes.md"
    case $n_links in
    0) ;;
    1) printf '\n1 symbolic link leads out of the models and was not read.\n' ;;
    *) printf '\n%d symbolic links lead out of the models and were not read.\n' "$n_links" ;;
    esac
    printf '\nEstimated by %s before any deployment; no number is a measurement of your board.\n' "$("$litecast" --version)"
} >"$table"

cat "$table"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$table" >>"$GITHUB_STEP_SUMMARY"; fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "table=$table" >>"$GITHUB_OUTPUT"; fi
exit "$status"
