//! Small cases compared with external programs, with numbers computed by `referee/tests/data/values.py`.

use ndarray::Array2;
use serde_json::Value as Json;

use crate::metric::quantiles::for_tests as quantiles;
use crate::rating::PlayedGame;
use crate::rating::alpha::{Alpha, alpha_rank};
use crate::rating::nash::max_entropy_nash;
use crate::rating::trueskill::trueskill;
use crate::relation::{correlation_p, pearson, spearman};

fn cases(of: &str) -> Vec<Json> {
    let all: Json = serde_json::from_str(include_str!("../../../tests/data/values.json")).unwrap();
    let cases = all[of].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn numbers(of: &Json) -> Vec<f64> {
    of.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn places(of: &Json) -> Vec<usize> {
    of.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as usize).collect()
}

fn table(of: &Json) -> Vec<Vec<f64>> {
    of.as_array().unwrap().iter().map(numbers).collect()
}

fn matrix(of: &Json) -> Array2<f64> {
    let rows = table(of);
    Array2::from_shape_fn((rows.len(), rows.len()), |(row, column)| rows[row][column])
}

#[track_caller]
fn near(got: f64, want: f64, within: f64, what: &Json) {
    assert!((got - want).abs() <= within, "{got} is not {want}: {what}");
}

#[test]
fn trueskill_agrees_with_the_python_package() {
    for case in cases("trueskill") {
        let game = |game: &Json| PlayedGame {
            seats: places(&game["seats"]),
            scores: numbers(&game["scores"]),
            teams: places(&game["teams"]),
            ..PlayedGame::default()
        };
        let games: Vec<PlayedGame> = case["games"].as_array().unwrap().iter().map(game).collect();
        let skills = trueskill(case["players"].as_u64().unwrap() as usize, &games);
        for (skill, want) in skills.iter().zip(table(&case["skills"])) {
            near(skill.mu, want[0], 1e-9, &case["name"]);
            near(skill.sigma, want[1], 1e-9, &case["name"]);
        }
    }
}

#[test]
fn correlations_agree_with_scipy() {
    for case in cases("pairs") {
        let pairs: Vec<(f64, f64)> = table(&case["pairs"]).iter().map(|pair| (pair[0], pair[1])).collect();
        let want = |name: &str| case[name].as_f64().unwrap();
        let (r, rho) = (pearson(&pairs).unwrap(), spearman(&pairs).unwrap());
        near(r, want("pearson"), 1e-12, &case);
        near(rho, want("spearman"), 1e-12, &case);
        near(correlation_p(r, pairs.len()).unwrap(), want("p"), 1e-9, &case);
        near(correlation_p(rho, pairs.len()).unwrap(), want("spearman_p"), 1e-9, &case);
    }
}

#[test]
fn quantiles_agree_with_numpy() {
    for case in cases("quantiles") {
        let found = quantiles(&numbers(&case["values"])).unwrap();
        let all = [found.min, found.q1, found.median, found.q3, found.max];
        all.iter().zip(numbers(&case["quantiles"])).for_each(|(got, want)| near(*got, want, 1e-12, &case));
        near(found.mean, case["mean"].as_f64().unwrap(), 1e-12, &case);
        assert_eq!(found.n as usize, numbers(&case["values"]).len());
    }
}

#[test]
fn alpha_rank_agrees_with_openspiel() {
    for case in cases("alpha_rank") {
        let settings = Alpha { alpha: case["alpha"].as_f64().unwrap(), population: case["m"].as_u64().unwrap() as u32 };
        let masses = alpha_rank(&matrix(&case["payoffs"]), settings).unwrap();
        masses.iter().zip(numbers(&case["masses"])).for_each(|(got, want)| near(*got, want, 1e-9, &case));
    }
}

/// Compares with OpenSpiel's solver, which is accurate to about seven decimals. The test also checks which strategies
/// are played, by comparison with exact fractions.
#[test]
fn nash_averaging_agrees_with_openspiel() {
    for case in cases("nash") {
        let masses = max_entropy_nash(&matrix(&case["game"])).unwrap();
        assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        masses.iter().zip(numbers(&case["masses"])).for_each(|(got, want)| near(*got, want, 2e-7, &case));
        masses.iter().zip(numbers(&case["exact"])).for_each(|(got, want)| near(*got, want, 1e-9, &case));
    }
}
