//! TrueSkill between teams, compared with the Python package; `data/oracles/make_trueskill.py` computed the numbers.

use std::fs;
use std::io::Read as _;

use ludex_referee::rating::PlayedGame;
use ludex_referee::rating::trueskill::trueskill;
use ludex_tests::data::document;
use serde_json::Value;

use super::Place;

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().expect("a list").iter().filter_map(Value::as_f64).collect()
}

#[test]
fn team_skills_equal_python_package() {
    let data = document("oracles/trueskill");
    let (mut games, mut far) = (0, 0.0f64);
    for series in data.as_array().expect("series") {
        let whole = |list: &Value| numbers(list).into_iter().map(|n| n as usize).collect::<Vec<_>>();
        let game = |game: &Value| PlayedGame {
            seats: whole(&game["seats"]),
            teams: whole(&game["teams"]),
            scores: numbers(&game["scores"]),
            ..PlayedGame::default()
        };
        let played: Vec<PlayedGame> = series["games"].as_array().expect("games").iter().map(game).collect();
        let wanted = series["skills"].as_array().expect("skills");
        for (skill, wanted) in trueskill(wanted.len(), &played).iter().zip(wanted) {
            let wanted = numbers(wanted);
            far = far.max((skill.mu - wanted[0]).abs()).max((skill.sigma - wanted[1]).abs());
        }
        games += played.len();
    }
    assert!(games == 280 && far < 1e-6, "{games} games, {far} from the package");
}

/// Checks the ratings of a run of undercover (one player against four) as `ludex rate` computes them: per agent, and
/// separately per role.
#[test]
fn undercover_skills_equal_python_package() {
    let place = Place::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/records/2026-11-23-undercover.jsonl.gz");
    let mut records = String::new();
    let mut reader = flate2::read::GzDecoder::new(fs::File::open(file).expect("the records"));
    reader.read_to_string(&mut records).expect("text");
    fs::write(place.path("undercover.jsonl"), records).expect("a file");
    let data = document("oracles/undercover_skills");
    let rate = ["rate", "undercover.jsonl", "--unrated", "--json"];
    for (how, more, agents) in [("plain", &[][..], 5), ("by_role", &["--by-role"], 10)] {
        let document = place.ludex(&[&rate[..], more].concat()).json();
        let scale = &document["ratings"][0];
        assert_eq!((&document["refused"], &scale["games"]), (&serde_json::json!([]), &data["games"]));
        let rows = scale["agents"].as_array().expect("agents");
        assert_eq!(rows.len(), agents);
        for row in rows {
            let wanted = numbers(&data["skills"][how][row["name"].as_str().expect("a name")]);
            let found = [&row["mu"], &row["sigma"]].map(|n| n.as_f64().expect("a number"));
            let far = (found[0] - wanted[0]).abs().max((found[1] - wanted[1]).abs());
            assert!(far < 1e-6, "{how}: {row} is {far} from the package");
        }
    }
}
