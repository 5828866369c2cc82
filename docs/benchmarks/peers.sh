#!/usr/bin/env bash
# Compares Ludex with OpenSpiel, RLCard and PettingZoo in one run; the table also goes to target/benchmarks/<date>/peers.txt.
#
#   docs/benchmarks/peers.sh [ARGUMENTS of peers.py]
#
# Installs them into a separate environment, target/venv/peers.
set -eu
cd "$(dirname "$0")/../.."
source docs/benchmarks/build.sh
venv="$target/venv/peers"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check open_spiel 'pettingzoo[classic]' msgpack websockets
build
# executable NAME: prints the path of a benchmark's program.
executable() {
    cargo bench --no-run --profile "$profile" "${packages[@]}" --bench "$1" 2>&1 | sed -n 's/^ *Executable.*(\(.*\))$/\1/p'
}
mkdir -p "$out"
export LUDEX_SEARCH="$(executable search)" LUDEX_STEPS="$(executable steps)" LUDEX_BIN="$built/ludex" PYTHONPATH=clients/python/src:clients/python/bench
"$venv/bin/python" docs/benchmarks/peers.py "$@" 2>&1 | tee "$out/peers.txt"
