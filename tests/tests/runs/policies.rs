//! Model that often replies with damaged documents, under a policy that limits unparsed replies and illegal moves
//! separately.

use std::fs;

use ludex_env::Viewer;
use ludex_env::recording::steps;
use ludex_games::load_with;
use ludex_protocol::ErrorCode;
use ludex_protocol::record::{EndReason, IllegalMoveRules, IllegalPolicy, MoveRecord, Record, Refusals};
use ludex_tests::run::lines;
use serde_json::{Value, json};

use super::Place;
use super::models::Stub;

const SUITE: &str = r#"
name = "plans"
version = 1
title = "Plans"
[policy]
unparsed = { tries = 2, then = "default" }
illegal = { tries = 2, then = "default" }
[[part]]
id = "cards"
game = "battle_cards(format=match,rounds=10,revise=both)"
schedule = "against"
opponents = ["random"]
blocks = 8
"#;

/// Returns the number of unparsed and of illegal attempts of a turn.
fn kinds(m: &MoveRecord) -> [usize; 2] {
    let unparsed = m.tries.iter().filter(|attempt| attempt.code == ErrorCode::Unparsed).count();
    [unparsed, m.tries.len() - unparsed]
}

#[test]
fn damaged_documents_forfeit_a_round() {
    let place = Place::new();
    fs::write(place.path("plans.toml"), SUITE).unwrap();
    let rule = Refusals { policy: IllegalPolicy::Default, tries: 2 };
    let wanted = IllegalMoveRules { policy: rule.policy, tries: rule.tries, unparsed: Some(rule) };
    let (mut forced, mut both, mut kept) = ([0, 0], 0, 0);
    // Faults are random; a few runs contain all of them.
    for seed in 1..=6 {
        let (seed, run) = (seed.to_string(), format!("r{seed}"));
        let stub = Stub::start(&place, &["--documents", "--malformed", "0.5", "--seed", &seed]);
        let model = stub.model("m", "");
        let line = ["evaluate", "--agent", &model, "--suite", "plans.toml", "--run", &run, "--json"];
        assert_eq!(place.ludex(&line).json()["end"], "done");
        place.ludex(&["verify", place.of_run(&run, "episodes.jsonl").to_str().unwrap()]).well();
        for line in lines(&place.path(&format!("ludex-data/runs/{run}")), "episodes.jsonl") {
            let record: Record = serde_json::from_value(line).unwrap();
            assert_eq!((record.header.illegal, record.footer.reason), (wanted, Some(EndReason::Finished)));
            let game = load_with(&record.header.game, &record.header.params).unwrap();
            let seat = record.header.seats.iter().position(|s| s.name != "random").unwrap();
            let mut all = steps(&*game, &record);
            // Rounds in which a reply failed; the next round is forfeited.
            let mut failed: Vec<usize> = Vec::new();
            while let Some(step) = all.next() {
                let step = step.unwrap();
                for (_, m) in step.moves().filter(|(_, m)| m.seat as usize == seat) {
                    let counts = kinds(m);
                    assert!(counts.iter().all(|&n| n <= 2), "{m:?}");
                    assert_eq!(m.forced, counts.contains(&2), "{m:?}");
                    both += usize::from(m.tries.len() > 1 && !m.forced);
                    if !m.forced {
                        continue;
                    }
                    (0..2).for_each(|k| forced[k] += usize::from(counts[k] == 2));
                    assert_eq!(m.document, Some(json!({"none": true})), "{m:?}");
                    let [before, after] = [step.before, step.after].map(|state| state.view(Viewer::Seat(seat)).value());
                    let rounds = before["history"].as_array().unwrap().len();
                    failed.push(rounds);
                    // The previous plan still applies, unless this was the first plan.
                    let side = before["side"].as_str().unwrap();
                    let stood = &before["strategy"][side]["strategy"];
                    assert_eq!(&after["strategy"][side]["strategy"], stood);
                    kept += usize::from(stood.is_object());
                }
            }
            let end = all.position().view(Viewer::Seat(seat)).value();
            for round in failed {
                let played = &end["history"][round];
                assert_eq!(played["strategies"][seat], Value::Null, "{played}");
                assert_eq!(played["violations"][seat], json!(["no_answer"]), "{played}");
                assert!(
                    played["winner"] != seat && played["reason"].as_str().unwrap().ends_with("forfeit"),
                    "{played}"
                );
            }
        }
    }
    assert!(forced[0] > 0 && forced[1] > 0 && both > 0 && kept > 0, "{forced:?} forced, {both} mixed, {kept} kept");
    let told = place.ludex(&["show", "r1"]);
    let told = told.well();
    for part in ["\nattempt 2\n", "additionalProperties", "your answer was refused", "Round 1: "] {
        assert!(told.contains(part), "the transcript lacks {part:?}");
    }
}
