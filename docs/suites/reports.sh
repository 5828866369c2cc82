#!/usr/bin/env bash
# Plays the suites with built-in agents and two stubs of language models, and writes the kept reports in docs/suites/reports.
#
#   docs/suites/reports.sh [SUITE...]   [all five]
#
#   LUDEX   the program [target/release/ludex]
#   SCALE   factor for the numbers of blocks [1]
#   DATA    folder of the runs, in which stopped runs continue [a temporary one]
set -eu
cd "$(dirname "$0")/../.."
ludex=${LUDEX:-target/release/ludex}
data=${DATA:-$(mktemp -d)}
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(botzonebench gtbench llmarena advgamebench qitown)

stubs=()
trap 'kill "${stubs[@]}"' EXIT
"$ludex" check llm-stub --listen 127.0.0.1:7811 --agent "anchor level=1" --out-tokens 5 >/dev/null &
stubs+=($!)
"$ludex" check llm-stub --listen 127.0.0.1:7812 --agent random --prose 0.05 --malformed 0.05 --empty 0.02 --out-tokens 5 >/dev/null &
stubs+=($!)
for model in strong:7811:schema weak:7812:text; do
    IFS=: read -r name port format <<<"$model"
    "$ludex" agents remove "$name" --data "$data" >/dev/null 2>&1 || true
    "$ludex" agents add "$name" --data "$data" --price-in 1 --price-out 4 \
        --spec "llm model=$name base_url=http://127.0.0.1:$port/v1 stub=true format=$format" >/dev/null
done

for suite in "${suites[@]}"; do
    scale=${SCALE:-1}
    title=$("$ludex" suites "$suite" --json | sed -n 's/^ *"title": "\(.*\)",*$/\1/p' | head -n 1)
    "$ludex" evaluate --data "$data" --suite "$suite" --run "$suite" --scale "$scale" \
        --agent random --agent "anchor level=1" --agent strong --agent weak --json >/dev/null
    # Figures of labels have labels by a stub, which chooses them at random.
    if grep -q '^\[\[rubric\]\]' "referee/suites/$suite.toml"; then
        "$ludex" label "$suite" --data "$data" --judge strong --sample 200 >/dev/null
    fi
    rm -rf "docs/suites/reports/$suite"
    "$ludex" rate "$suite" --data "$data" --report "docs/suites/reports/$suite.md" --title "$title: kept run"
done
