use ludex_tests::run::Run;
use serde_json::json;

use super::{Ran, ludex, one};

#[test]
fn plan_without_run_uses_variance_of_game_kind() {
    let at = tempfile::tempdir().expect("a temporary folder");
    let plan = |args: &[&str]| ludex(at.path(), &[&["power", "--json", "--game"], args].concat());
    // The standard deviation of a block of two independent matches is 1600 / ln 10 / sqrt(8) = 245.67 points:
    // (1.96 * 245.67 / 30)^2 = 257.6, and (2.80 * 245.67 / 30)^2 = 526.3.
    let pig = plan(&["pig"]).json();
    assert_eq!(
        (&pig["half_width"], &pig["plans"][0]["width"]),
        (&json!(30.0), &json!({"blocks": 258, "matches": 516}))
    );
    assert_eq!(plan(&["pig", "--half-width", "15"]).json()["plans"][0]["width"]["blocks"], 1031);
    let two = plan(&["pig", "--difference", "30"]).json();
    assert_eq!(two["plans"][0]["difference"]["meeting"], json!({"blocks": 527, "matches": 1054}));
    assert_eq!(two["plans"][0]["difference"]["unpaired"], json!({"blocks": 1053, "matches": 2106}));
    let sure = plan(&["pig", "--difference", "30", "--power", "0.95"]).json();
    assert!(sure["plans"][0]["difference"]["meeting"]["blocks"].as_u64() > Some(800), "{sure}");
    // Draws reduce the variance: equal players of tic-tac-toe draw two of three games.
    assert!(plan(&["tic_tac_toe"]).json()["plans"][0]["width"]["blocks"].as_u64() < Some(120));
    let text = ludex(at.path(), &["power", "--game", "pig", "--difference", "30"]).well();
    for said in
        ["a half width of 30 points", "258", "516", "against each other", "assumed: two equal agents that draw 0.000"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn plan_with_run_uses_variance_of_run() {
    let at = tempfile::tempdir().expect("a temporary folder");
    let models = &[("good", "mcts sims=20"), ("poor", "random")];
    let parts = &[("ttt", "tic_tac_toe", "random"), ("kuhn", "kuhn_poker", "anchor level=1")];
    Run { name: "both", models, parts, seeds: 12 }.write(&at.path().join("ludex-data"));
    let got =
        ludex(at.path(), &["power", "--game", "kuhn_poker", "--from-run", "both", "--difference", "50", "--json"])
            .json();
    let plans = got["plans"].as_array().unwrap();
    let agents: Vec<&str> = plans.iter().map(|p| p["agent"].as_str().unwrap()).collect();
    assert!(plans.len() == 2 && agents.contains(&"good") && agents.contains(&"poor"), "{got}");
    for plan in plans {
        let (half, blocks) = (plan["measured"]["half_width"].as_f64().unwrap(), plan["measured"]["blocks"].as_u64());
        assert_eq!((plan["part"].as_str(), blocks), (Some("kuhn"), Some(12)));
        let needed = (12.0 * (half / 30.0).powi(2)).ceil() as u64;
        assert_eq!(plan["width"], json!({"blocks": needed, "matches": 2 * needed}));
    }
    assert!(got["correlation"].as_f64().is_some_and(|r| (-1.0..=1.0).contains(&r)), "{got}");
    // The report on the same records gives the same number.
    let file = "ludex-data/runs/both/episodes.jsonl";
    let rated = ludex(at.path(), &["rate", file, "--json"]).json();
    let scale = rated["ratings"].as_array().unwrap().iter().find(|s| s["game"] == "kuhn_poker").unwrap();
    for row in scale["agents"].as_array().unwrap().iter().filter(|a| a["fixed"] == false) {
        let plan = plans.iter().find(|plan| plan["agent"] == row["name"]).unwrap();
        assert_eq!((&row["blocks"], &row["blocks_for_30"]), (&json!(12), &plan["width"]["blocks"]));
    }
    let text = ludex(at.path(), &["rate", file]).well();
    assert!(text.contains("for +-30") && text.contains("number of blocks needed"), "{text}");
}

#[test]
fn invalid_plan_errors_state_the_reason() {
    let at = one();
    let plan = |args: &[&str]| -> Ran { ludex(at.path(), &[&["power", "--game"], args].concat()) };
    for (args, said) in [
        (&["pig", "--half-width", "0"][..], "--half-width: expected points above 0"),
        (&["pig", "--half-width=-30"], "--half-width: expected points above 0"),
        (&["pig", "--half-width", "NaN"], "--half-width: expected points above 0"),
        (&["pig", "--difference", "0"], "--difference: expected points above 0"),
        (&["pig", "--difference", "30", "--power", "1"], "--power: expected a number above 0.05 and below 1"),
        (&["pig", "--difference", "30", "--power", "0"], "--power: expected a number above 0.05 and below 1"),
        (&["pigg"], "did you mean pig?"),
        (&["hanabi"], "expected a competitive game, got hanabi"),
        (&["pig", "--from-run", "nothing"], "there is no run \"nothing\": runs in"),
        (&["pig", "--from-run", "one"], "no verified match of pig in one; games: kuhn_poker"),
    ] {
        let err = plan(args).fails();
        assert!(err.contains(said), "{args:?}: {err}");
    }
    // A power without a difference is an error.
    assert_eq!(plan(&["pig", "--power", "0.9"]).code, 2);
}
