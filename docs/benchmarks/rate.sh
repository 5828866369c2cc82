#!/usr/bin/env bash
# Plays 100,188 matches of three games between twelve agents, then verifies and rates them: seconds, and the most memory that was held.
#
#   docs/benchmarks/rate.sh [FOLDER]
#
#   FOLDER      keep the matches there; if they are there already, they are not played again [a temporary folder, removed at the end]
#   LUDEX_BIN   the program [target/release/ludex, which is built if it is missing]
#
# GNU time (/usr/bin/time) is needed. The matches take some 150 MB.
set -eu
cd "$(dirname "$0")/../.."
program="${LUDEX_BIN:-${CARGO_TARGET_DIR:-target}/release/ludex}"
[ -x "$program" ] || cargo build --release -p ludex-cli
folder="${1:-}"
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"

{
    printf '[agents.dice]\nspec = "random"\n'
    for sims in 2 4 6 8 10 12 14 16 18 20 22; do
        printf '[agents.mcts%02d]\nspec = "mcts sims=%d"\n' $sims $sims
    done
} >"$folder/agents.toml"

# 66 meetings of twelve, 253 seeds each, both seatings: 33,396 matches of each game.
for game in tic_tac_toe kuhn_poker connect_four; do
    "$program" tournament --agents "$folder/agents.toml" --game $game --format double_round_robin --blocks 253 \
        --run big-$game --data "$folder" >"$folder/$game.txt"
done
records=("$folder"/runs/big-*/episodes.jsonl)

# timed NAME COMMAND...: seconds and memory of a command, whose output is thrown away.
timed() {
    local name=$1
    shift
    /usr/bin/time -f "$name: %e s, %U s user, %S s system, %M kB at most" "$@" >/dev/null
}

wc -l "${records[@]}" | tail -n 1
timed verify "$program" verify "${records[@]}"
timed "rate, 10,000 resamples" "$program" rate --unrated "${records[@]}"
timed "anchored, 1,000 resamples" "$program" rate --unrated --metric anchored --metric-arg resamples=1000 "${records[@]}"
