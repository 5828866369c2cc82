use ludex_tests::run::{Run, lines};
use serde_json::{Value, json};

use super::{PARTS, change, ludex, one, write};

#[test]
fn runs_are_compared_on_equal_terms() {
    let at = one();
    write(at.path(), "two", "model-b", "alphabeta depth=1");
    // Kuhn poker hides cards from alphabeta: only the other part pairs.
    assert!(ludex(at.path(), &["compare", "one", "two"]).code == 0 || at.path().join("ludex-data/runs/two").exists());
}

#[test]
fn a_run_is_equal_to_itself() {
    let at = one();
    let same = ludex(at.path(), &["compare", "one", "one", "--json"]).json();
    assert_eq!((&same["all"]["pairs"], &same["unpaired"]), (&json!(12), &json!([0, 0])));
    assert_eq!((&same["all"]["score"]["value"], &same["all"]["mcnemar"]["p"]), (&json!(0.0), &json!(1.0)));
    // Where nothing differs there is no interval to tell.
    assert_eq!(same["all"]["score"]["low"], Value::Null);
    assert_eq!(same["games"].as_array().unwrap().len(), 2);
}

#[test]
fn differences_are_those_of_the_records() {
    let at = one();
    let data = at.path().join("ludex-data");
    let parts = &[("ttt", "tic_tac_toe", "random")];
    Run { name: "two", model: "model-b", plays: "alphabeta depth=9", parts, seeds: 4 }.write(&data);
    let got = ludex(at.path(), &["compare", "two", "one", "--json"]).json();
    assert_eq!(got["agents"], json!(["model-b (two)", "model-a (one)"]));
    // Two has a seed more, and one a part more.
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
    assert!(text.contains("left out without a partner: 2 of the first, 6 of the second"), "{text}");
    assert!(text.contains("  0 and 6: kuhn: kuhn_poker"), "{text}");
}

#[test]
fn two_agents_of_one_run() {
    let at = one();
    // Rows of random take the name of the anchor, so that three agents have met in one part.
    let err = ludex(at.path(), &["compare", "one"]).fails();
    assert!(err.contains("--agent") && err.contains("model-a, random"), "{err}");
    let err = ludex(at.path(), &["compare", "one", "--agent", "model-a", "--agent", "nobody"]).fails();
    assert!(err.contains("\"nobody\" is no agent of one"), "{err}");
    // They have only met each other: that is no comparison on equal terms.
    let err = ludex(at.path(), &["compare", "one", "--agent", "random", "--agent", "model-a"]).fails();
    assert!(err.contains("random has played no match that counts"), "{err}");
}

#[test]
fn without_pairs_it_says_so() {
    let at = one();
    write(at.path(), "two", "model-b", "random");
    let path = at.path().join("ludex-data/runs/two/episodes.jsonl");
    // Other parts: nothing is on equal terms.
    let text = std::fs::read_to_string(&path).unwrap();
    let moved =
        PARTS.iter().fold(text, |text, (part, ..)| text.replace(&format!("two.{part}."), &format!("two.x{part}.")));
    std::fs::write(&path, moved).unwrap();
    let text = ludex(at.path(), &["compare", "one", "two"]).well();
    assert!(text.contains("nothing pairs") && text.contains("UNPAIRED"), "{text}");
    assert!(text.contains("left out without a partner: 12 of the first, 12 of the second"), "{text}");
    // What does not count is in neither.
    change(at.path(), "episodes.jsonl", |text| text.replace("\"reason\":\"finished\"", "\"reason\":\"infra_error\""));
    let err = ludex(at.path(), &["compare", "one", "two"]).fails();
    assert!(err.contains("model-a has played no match that counts"), "{err}");
}
