#!/bin/sh
# Practice for minutes on a bare machine with a GPU: build a bundle, pack, unpack and run it there without a network,
# bring the results back, report them and compare them with the emulator's.  Says what took how long.
#
#     benchmarks/first_contact.sh [EXPERIMENT [arguments of 'harness build', such as --only variant=flash]]
#
# Without an experiment: some of the small cases of experiments/first_contact.toml.
#
# "There" is a folder with an environment of another Python, where the emulator's stub is the driver.
#
#     HARNESS       the command that builds, reports and compares; .venv/bin/harness
#     PYTHON_THERE  the Python of that machine's environment; the first Python 3.12 that is here
#     CHIP          its device; sm_90
#     WORK          folder for all that is made; a new one
set -eu

checkout=$(cd "$(dirname "$0")/.." && pwd)
machine=$checkout/tests/stub_gpu_machine
HARNESS=${HARNESS:-$checkout/.venv/bin/harness}
CHIP=${CHIP:-sm_90}
work=${WORK:-$(mktemp -d)}
if [ $# -gt 0 ]; then
    experiment=$1
    shift
else
    experiment=$checkout/experiments/first_contact.toml
    set -- --only seq_q=1,77        # what the stub bears in minutes
fi
bundle=$(basename "$experiment" .toml)
fail() {
    echo "first_contact.sh: $*" >&2
    exit 2
}

for python in ${PYTHON_THERE:-python3.12 /usr/bin/python3.12 "$HOME"/.pyenv/versions/3.12.*/bin/python} ""; do
    version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null) && break
done
[ -n "$python" ] || fail "no Python 3.12 is here: set PYTHON_THERE"

alone=unshare
[ "$(id -u)" = 0 ] || alone="unshare --map-root-user"
$alone --net true || fail "'unshare --net' is not allowed here, and so is no machine without a network"

mkdir -p "$work/here" "$work/there"

timed() {       # WHAT COMMAND...
    what=$1 began=$(date +%s)
    shift
    echo "--- $what"
    "$@"
    echo "$what: $(($(date +%s) - began)) s" >>"$work/parts.txt"
}
: >"$work/parts.txt"

# What such a machine has.  The stub of the driver needs llvmlite, a driver does not.
packages='numpy|pandas|pyarrow|cuda-bindings|llvmlite'
grep -oE "\"($packages)==[^\"]+" "$checkout/pyproject.toml" | tr -d '"' | sort -u >"$work/installed.txt"
(cat "$work/installed.txt"; echo torch) >"$work/provided.txt"

make_machine() {
    "$python" -m venv "$work/there/python"
    "$work/there/python/bin/python" -m pip install --quiet --disable-pip-version-check -r "$work/installed.txt"
    "$(dirname "$HARNESS")/python" "$machine/make.py" "$work/there/driver" "$CHIP" >"$work/there/variables"
}
build() {
    "$HARNESS" build "$experiment" "$@" --plain \
        --bundle "$work/here/$bundle" --offline "$version" --provided "$work/provided.txt" | tee "$work/build.txt"
}
run_there() {
    (
        cd "$work/there"
        $alone --net env -i PATH="$PATH" HOME="$work/there" PYTHON="$work/there/python/bin/python" \
            $(cat variables) sh "./$bundle/run.sh"
    ) | tee "$work/run.txt"
}
compare() {
    "$HARNESS" compare "$work/here/emulator"/* "$work/here/$bundle-results.tar.gz" || [ $? = 1 ]     # 1: they differ
}

timed "make the machine" make_machine
timed "build, pack" build "$@"
timed "unpack there" tar -xJf "$work/here/$bundle.tar.xz" -C "$work/there"
timed "run there" run_there
sed -n 's/^run.sh: \(.* s\)$/    \1/p' "$work/run.txt" >>"$work/parts.txt"
cp "$work/there/$bundle-results.tar.gz" "$work/here"
timed "report here" "$HARNESS" report "$work/here/$bundle-results.tar.gz" --out "$work/here/report"
timed "emulator here" "$HARNESS" check --bundle "$work/here/$bundle" --plain --out "$work/here/emulator"
timed "compare here" compare

echo "--- all"
grep '^packed: ' "$work/build.txt"
cat "$work/parts.txt"
echo "$work"
