use ludex_tests::run::{Run, lines};
use serde_json::{Value, json};

use super::{change, failed, ludex, one};

#[test]
fn run_compared_with_itself_shows_no_difference() {
    let at = one();
    let same = ludex(at.path(), &["compare", "one", "one", "--json"]).json();
    assert_eq!((&same["all"]["pairs"], &same["unpaired"]), (&json!(12), &json!([0, 0])));
    assert_eq!((&same["all"]["score"]["value"], &same["all"]["mcnemar"]["p"]), (&json!(0.0), &json!(1.0)));
    // Two equal runs have no confidence interval.
    assert_eq!(same["all"]["score"]["low"], Value::Null);
    assert_eq!(same["games"].as_array().unwrap().len(), 2);
}

#[test]
fn differences_are_computed_from_records() {
    let at = one();
    let data = at.path().join("ludex-data");
    let parts = &[("ttt", "tic_tac_toe", "random")];
    Run { name: "two", models: &[("model-b", "alphabeta depth=9")], parts, seeds: 4 }.write(&data);
    let got = ludex(at.path(), &["compare", "two", "one", "--json"]).json();
    assert_eq!(got["agents"], json!(["model-b (two)", "model-a (one)"]));
    // Run two has one more seed, and run one has one more part.
    assert_eq!((&got["all"]["pairs"], &got["all"]["blocks"], &got["unpaired"]), (&json!(6), &json!(3), &json!([2, 6])));
    let score = |run: &str, model: &str| {
        let records = lines(&data.join("runs").join(run), "episodes.jsonl");
        let mut sum = 0.0;
        for record in records.iter().filter(|r| r["game"] == "tic_tac_toe") {
            if record["episode"].as_str().unwrap().contains(".3.") {
                continue;
            }
            let seat = record["seats"].as_array().unwrap().iter().position(|s| s["name"] == model).unwrap();
            sum += match record["outcome"][seat].as_str().unwrap() {
                "win" => 1.0,
                "draw" => 0.5,
                _ => 0.0,
            };
        }
        sum / 6.0
    };
    let (two, one) = (score("two", "model-b"), score("one", "model-a"));
    assert_eq!(got["games"][0]["scores"], json!([two, one]));
    assert!((got["all"]["score"]["value"].as_f64().unwrap() - (two - one)).abs() < 1e-12, "{got}");
    assert!(two > one);
    let text = ludex(at.path(), &["compare", "two", "one"]).well();
    assert!(text.contains("unpaired, excluded: 2 matches of the first, 6 of the second"), "{text}");
    assert!(text.contains("  0 and 6: kuhn: kuhn_poker"), "{text}");
}

/// Returns the number of games with a p-value of at least `p`.
fn p_at_least(p: f64, games: &[Value]) -> usize {
    games.iter().filter(|game| game["p"].as_f64().is_some_and(|other| other >= p)).count()
}

#[test]
fn p_values_of_several_games_are_corrected() {
    let at = one();
    let data = at.path().join("ludex-data");
    let long = "connect_four(columns=6,rows=5)";
    let parts = &[("ttt", "tic_tac_toe", "random"), ("small", long, "random"), ("wide", "connect_four", "random")];
    for (name, plays) in [("strong", "alphabeta depth=3"), ("weak", "random")] {
        Run { name, models: &[("model", plays)], parts, seeds: 8 }.write(&data);
    }
    let got = ludex(at.path(), &["compare", "strong", "weak", "--json"]).json();
    let games = got["games"].as_array().unwrap();
    let p: Vec<f64> = games.iter().map(|g| g["p"].as_f64().unwrap()).collect();
    for (game, own) in games.iter().zip(&p) {
        // Each p-value has a rank equal to the number of tests whose p-value is not smaller.
        let smaller = p.iter().filter(|p| *p <= own);
        let holm = smaller.map(|p| p * p_at_least(*p, games) as f64).fold(0.0, f64::max).min(1.0);
        assert!((game["holm"].as_f64().unwrap() - holm).abs() < 1e-12, "{got}");
        assert_eq!((&game["mcnemar"]["p"], game["needed"].as_u64().is_some()), (&json!(own), true));
    }
    assert_eq!(got["all"]["holm"], Value::Null);
    let text = ludex(at.path(), &["compare", "strong", "weak"]).well();
    assert!(text.lines().any(|line| line.starts_with("small ")), "a row by the part's id");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert!(text.lines().any(|line| line.starts_with("small: connect_four(")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("tic_tac_toe  ")), "the only one of its kind: {text}");
    assert!(text.contains("p (Holm)") && text.contains("needed: number of seeds to detect"), "{text}");
}

#[test]
fn comparison_states_reason_for_missing_interval() {
    let at = one();
    let text = ludex(at.path(), &["compare", "one", "one", "--game", "tic_tac_toe"]).well();
    let why = "tic_tac_toe: the difference has no interval: all 3 seeds gave the same difference";
    assert!(text.contains(why) && text.contains("seeds are needed to detect 30 points"), "{text}");
    let parts = &[("ttt", "tic_tac_toe", "random")];
    Run { name: "few", models: &[("model", "alphabeta depth=2")], parts, seeds: 1 }
        .write(&at.path().join("ludex-data"));
    let few = ludex(at.path(), &["compare", "few", "one"]).well();
    assert!(few.contains("tic_tac_toe: the difference has no interval: expected at least two seeds"), "{few}");
}

#[test]
fn agents_of_one_run_are_compared() {
    let at = one();
    let models = &[("good", "alphabeta depth=9"), ("poor", "random")];
    let parts = &[("ttt", "tic_tac_toe", "random")];
    Run { name: "both", models, parts, seeds: 3 }.write(&at.path().join("ludex-data"));
    let of = |first: &str, second: &str| {
        ludex(at.path(), &["compare", "both", "--agent", first, "--agent", second, "--json"]).json()
    };
    let got = of("good", "poor");
    assert_eq!(
        (&got["agents"], &got["all"]["pairs"], &got["unpaired"]),
        (&json!(["good", "poor"]), &json!(6), &json!([0, 0]))
    );
    let difference = |c: &Value| c["all"]["score"]["value"].as_f64().unwrap();
    assert!(difference(&got) > 0.0 && difference(&got) == -difference(&of("poor", "good")), "{got}");

    let err = ludex(at.path(), &["compare", "one"]).fails();
    assert!(err.contains("--agent") && err.contains("model-a, random"), "{err}");
    let err = ludex(at.path(), &["compare", "one", "--agent", "model-a", "--agent", "stranger"]).fails();
    assert!(err.contains("in one, got \"stranger\""), "{err}");
    // The two agents met only each other, so no opponent is common to both.
    let err = ludex(at.path(), &["compare", "one", "--agent", "random", "--agent", "model-a"]).fails();
    assert!(err.contains("matches that count, got random"), "{err}");
    // Records that do not verify are ignored.
    change(at.path(), "episodes.jsonl", |text| text.replacen("\"win\",\"loss\"", "\"loss\",\"win\"", 1));
    let ran = ludex(at.path(), &["compare", "one", "one", "--json"]);
    assert!(ran.err.contains("refused: ") && ran.err.contains("got loss/win"), "{}", ran.err);
    assert_eq!(ran.json()["all"]["pairs"], 11);
}

#[test]
fn comparison_states_reason_for_missing_pairs() {
    let at = one();
    // Both runs have the same games but in different parts, so no matches can be paired.
    let parts = &[("x", "tic_tac_toe", "random"), ("y", "kuhn_poker", "anchor level=1")];
    Run { name: "two", models: &[("model-b", "random")], parts, seeds: 3 }.write(&at.path().join("ludex-data"));
    let text = ludex(at.path(), &["compare", "one", "two"]).well();
    assert!(text.contains("no pairs") && text.contains("UNPAIRED"), "{text}");
    assert!(text.contains("unpaired, excluded: 12 matches of the first, 12 of the second"), "{text}");
}

#[test]
fn discarded_matches_are_not_compared() {
    let at = one();
    change(at.path(), "episodes.jsonl", |text| text.lines().map(failed).collect());
    // The discarded matches must be played again, so the run is incomplete.
    change(at.path(), "log.jsonl", |text| text.lines().take(1).map(|line| format!("{line}\n")).collect());
    assert_eq!(ludex(at.path(), &["verify", "one", "--json"]).json()["verified"], 12);
    let err = ludex(at.path(), &["compare", "one", "one"]).fails();
    assert!(err.contains("matches that count, got model-a"), "{err}");
    let text = ludex(at.path(), &["show", "one"]).well();
    assert_eq!(text.matches("this match does not count").count(), 12);
}
