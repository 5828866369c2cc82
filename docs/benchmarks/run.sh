#!/usr/bin/env bash
# Runs the benchmarks one after the other; raw outputs and a description of the machine go to target/benchmarks/<date>/.
#
#   docs/benchmarks/run.sh [PART...]    steps poker pictures mcts verify codec store wire python; without a name all of them
#
#   RUN                   another name for the folder of raw outputs
#   LUDEX_BENCH_PROFILE   the build profile [bench: that of releases]
#   PYTHON                a Python with numpy, msgpack and websockets [python3]
#   SECONDS_EACH          how many seconds each figure of wire and python is measured [5]
#
# Run nothing else meanwhile. The outputs name the load before and after each part.
set -u
cd "$(dirname "$0")/../.." || exit 1
source docs/benchmarks/build.sh
python="${PYTHON:-python3}"
seconds="${SECONDS_EACH:-5}"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(steps poker pictures mcts verify codec store wire python)
for part in "${parts[@]}"; do
    case "$part" in
        steps | poker | pictures | mcts | verify | codec | store | wire | python) ;;
        *) echo "unknown part $part; parts are: steps poker pictures mcts verify codec store wire python" >&2; exit 2 ;;
    esac
done
mkdir -p "$out" || exit 1
failed=0

load() { uptime | sed 's/.*load average/load average/'; }

# run NAME COMMAND...: shows the output and writes it to NAME.txt, after the command without this machine's paths.
run() {
    local name=$1 said
    shift
    said="$*"
    printf '\n==> %s\n' "$name"
    { echo "\$ ${said//"$python"/python}"; echo "# before: $(load)"; "$@" 2>&1; local how=$?; echo "# after: $(load)"; return $how; } |
        tee "$out/$name.txt"
    [ "${PIPESTATUS[0]}" = 0 ] || { echo "$name FAILED" | tee -a "$out/$name.txt"; failed=1; }
}

bench() {
    local name=$1 target=$2
    shift 2
    run "$name" cargo bench --profile "$profile" "${packages[@]}" --bench "$target" -- "$@"
}

build || exit 1

{
    echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "commit: $(git rev-parse HEAD)$(git diff --quiet HEAD || echo ' and changes')"
    echo "profile: $profile"
    echo "parts: ${parts[*]}"
    uname -srm
    rustc --version
    lscpu 2>/dev/null | grep -E '^(Model name|CPU\(s\)|Thread|L1d|L2|L3|Hypervisor)' || sysctl -n machdep.cpu.brand_string
    grep -E '^MemTotal' /proc/meminfo 2>/dev/null
    "$python" -c 'import platform, numpy, msgpack, websockets as w
print("python", platform.python_version(), "numpy", numpy.__version__, "msgpack", msgpack.version, "websockets", w.__version__)'
    load
} 2>&1 | tee "$out/machine.txt"

for part in "${parts[@]}"; do
    case "$part" in
        steps) bench steps steps ;;
        poker) bench poker poker ;;
        pictures) bench pictures pictures ;;
        mcts) bench mcts search ;;
        verify) bench verify verify ;;
        codec) bench codec codec ;;
        store) bench store store ;;
        wire) bench wire wire --seconds "$seconds" ;;
        python)
            export LUDEX_BIN="$built/ludex" PYTHONPATH=clients/python/src
            run python "$python" clients/python/bench/steps.py --seconds "$seconds" ;;
    esac
done
[ $failed = 0 ] || { echo "something failed: see $out" >&2; exit 1; }
printf '\nraw outputs are in %s\n' "$out"
