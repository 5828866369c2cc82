//! Mahjong with four entrants in all 24 seatings of each wall (shuffled tile set): the points of each entrant,
//! recomputed from the records alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ludex_protocol::record::{Record, RecordEvent};

use super::Place;

const SUITE: &str = r#"
name = "walls"
version = 1
title = "Walls"

[[part]]
id = "four"
game = "mcr_mahjong(hands=2)"
schedule = "round_robin"
seats = "permutations"
blocks = 1
metrics = ["wall_points"]
"#;

const ENTRANTS: [&str; 4] = ["lowest_shanten", "random", "lowest_shanten slips=0.5", "random seed=7"];

/// Returns the tiles of the wall and the winds, in the order of the draws.
fn chance_outcomes(record: &Record) -> Vec<u32> {
    let outcome = |event: &RecordEvent| match event {
        RecordEvent::Chance(c) => c.action,
        RecordEvent::Move(_) => None,
    };
    record.events.iter().filter_map(outcome).collect()
}

/// Returns the scores of each hand by seat, computed from positions alone. A score is the increase of a seat's total
/// from one deal to the next, or to the end of the match.
fn hands(record: &Record) -> Vec<Vec<f64>> {
    let game = ludex_games::builtin().load_with(&record.header.game, &record.header.params).unwrap();
    let mut steps = ludex_env::recording::steps(&*game, record);
    let (mut before, mut all) = (vec![0.0; 4], Vec::new());
    let mut ended = |now: Vec<f64>| {
        all.push(now.iter().zip(&before).map(|(n, b)| n - b).collect());
        before = now;
    };
    while let Some(step) = steps.next() {
        let step = step.unwrap();
        let dealt = step.before.phase() != Some("deal") && step.after.phase() == Some("deal");
        if dealt || step.after.phase() == Some("over") {
            ended(step.after.returns());
        }
    }
    all
}

#[test]
fn each_tile_wall_is_played_in_all_seatings() {
    let place = Place::new();
    fs::write(place.path("walls.toml"), SUITE).unwrap();
    let agents: Vec<&str> = ENTRANTS.iter().flat_map(|agent| ["--agent", agent]).collect();
    let line = [&["evaluate", "--suite", "walls.toml", "--run", "w", "--json"][..], &agents].concat();
    let results = place.ludex(&line).json();

    let text = fs::read_to_string(place.of_run("w", "episodes.jsonl")).unwrap();
    let records: Vec<Record> = text.lines().map(|line| Record::parse(line).unwrap()).collect();
    assert_eq!(records.len(), 24);
    let name = |record: &Record, seat: usize| record.header.seats[seat].name.clone();
    let seatings: BTreeSet<Vec<String>> = records.iter().map(|r| (0..4).map(|p| name(r, p)).collect()).collect();
    assert_eq!(seatings.len(), 24, "every seating occurs once");
    // The seatings and the play differ, but the walls and winds are the same.
    assert_eq!(chance_outcomes(&records[0]).len(), 2 * 137);
    assert!(records.iter().all(|r| chance_outcomes(r) == chance_outcomes(&records[0])));
    assert!(records.iter().any(|r| r.events.len() != records[0].events.len()));

    let mut points: BTreeMap<String, f64> = BTreeMap::new();
    for wall in 0..2 {
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for record in &records {
            let scores = &hands(record)[wall];
            (0..4).for_each(|p| *sums.entry(name(record, p)).or_default() += scores[p]);
        }
        for (who, own) in &sums {
            let above = sums.values().filter(|s| *s > own).count() as f64;
            let level = sums.values().filter(|s| *s == own).count() as f64;
            // Ranks 1 to 4 are worth 4, 3, 2, 1 points; tied entrants share the mean of their ranks.
            *points.entry(who.clone()).or_default() += 4.0 - above - (level - 1.0) / 2.0;
        }
    }
    assert_eq!(points.values().sum::<f64>(), 20.0);
    for row in results["parts"].as_array().unwrap() {
        let metric = &row["metrics"]["wall_points"];
        assert_eq!(metric["value"].as_f64(), points.get(row["agent"].as_str().unwrap()).copied(), "{row}");
        assert_eq!(metric["n"], 2);
        assert_eq!(
            row["wins"].as_u64().unwrap() + row["draws"].as_u64().unwrap() + row["losses"].as_u64().unwrap(),
            24
        );
    }
    assert_eq!(results["parts"].as_array().unwrap().len(), 4);
}

#[test]
fn tile_walls_are_determined_by_seed() {
    let walls = |game: &str, agents: [&str; 4]| {
        let game = ludex_games::load(game).unwrap();
        let record = ludex_play::play(&game, agents, 11).unwrap().record;
        (chance_outcomes(&record)[..136].to_vec(), record.events.len())
    };
    let (first, length) = walls("mcr_mahjong", ["random", "lowest_shanten", "random", "random"]);
    let others = [
        walls("mcr_mahjong", ["lowest_shanten", "random", "random", "random"]),
        walls("mcr_mahjong(prevalent=east)", ["random", "lowest_shanten", "random", "random"]),
        walls("mcr_mahjong(prevalent=north)", ["lowest_shanten"; 4]),
        walls("mcr_mahjong(preset=ijcai2020)", ["random seed=3"; 4]),
    ];
    for (wall, played) in &others {
        assert_eq!(*wall, first);
        assert_ne!(*played, length, "other play");
    }
}
