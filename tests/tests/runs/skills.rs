//! TrueSkill between teams, against the Python package: `data/oracles/make_trueskill.py` made the numbers.

use ludex_referee::rating::PlayedGame;
use ludex_referee::rating::trueskill::trueskill;
use ludex_tests::data::document;
use serde_json::Value;

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().expect("a list").iter().filter_map(Value::as_f64).collect()
}

#[test]
fn teams_have_the_skills_of_the_python_package() {
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
