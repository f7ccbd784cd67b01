#!/bin/sh
# Runs this bundle on a machine without a network: makes an environment of the wheels that the bundle brings,
# checks and times its cases, reports, and packs the results into one file.  Called again, it goes on.
#
#     sh run.sh [further arguments of 'harness run', such as --only variant=flash]
#
# Variables:
#     PYTHON       the Python that runs it, with the packages of the machine; python3
#     LIMIT_S      seconds after which the run is ended, and what it has by then is packed; no limit
#     ENVIRONMENT  folder that is made for the environment; the bundle's name with -environment
#     OUT          folder for the results; the bundle's name with -results
set -u

bundle=$(cd "$(dirname "$0")" && pwd) || exit 2
python=${PYTHON:-python3}
environment=${ENVIRONMENT:-$bundle-environment}
results=${OUT:-$bundle-results}
bundles_python=@python@
experiment=@experiment@
provided="@provided@"

say() { echo "run.sh: $*"; }
fail() { say "$*" >&2; exit 2; }

part_began=$(date +%s)
part_ends() {
    now=$(date +%s)
    say "$1: $((now - part_began)) s"
    part_began=$now
}

found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "$python: expected a Python"
[ "$found" = "$bundles_python" ] || fail "$python is Python $found, expected $bundles_python: set PYTHON"

# Nothing is installed: the machine's own packages stay as they are, and those of the bundle come before them.
if ! cmp -s "$bundle/wheels.txt" "$environment/wheels.txt"; then
    if [ -e "$environment" ] && [ ! -e "$environment/wheels.txt" ]; then
        fail "$environment is there and no environment of a bundle: set ENVIRONMENT"
    fi
    (cd "$bundle" && sha256sum -c wheels.txt >/dev/null) || fail "$bundle: wheels have changed: copy it again"
    rm -rf "$environment" "$environment.partial"
    "$python" -c '
import sys, zipfile
for wheel in sys.argv[2:]:
    zipfile.ZipFile(wheel).extractall(sys.argv[1])' "$environment.partial" "$bundle"/wheels/*.whl ||
        fail "$environment: wheels cannot be unpacked"
    cp "$bundle/wheels.txt" "$environment.partial" && mv "$environment.partial" "$environment" || exit 2
fi
export PYTHONPATH="$environment${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONDONTWRITEBYTECODE=     # else each worker would compile all modules
missing=$("$python" -c '
import importlib.metadata, sys
there = {(d.name or "").lower().replace("_", "-").replace(".", "-") for d in importlib.metadata.distributions()}
print(*(name for name in sys.argv[1:] if name not in there))' $provided)
[ -z "$missing" ] || say "$python lacks packages that this bundle was told are there: $missing"
part_ends environment

trap : INT TERM     # what is there is packed, whatever ends the run
${LIMIT_S:+timeout --foreground -s INT -k 60 "$LIMIT_S"} "$python" -m harness run --bundle "$bundle" \
    --out "$results" --plain --resume "$@"
status=$?
part_ends "run and report"

if [ -d "$results/$experiment" ]; then
    "$python" -m harness archive "$results/$experiment" --out "$results.tar.gz" || exit 2
    part_ends archive
    say "results: $results.tar.gz, $(wc -c <"$results.tar.gz") bytes"
fi
exit "$status"
