//! Throughput of Mahjong on one core: fan scoring of known winning hands, and the shanten number of random hands with
//! the tiles that lower it.
//!
//! `cargo bench -p ludex-games --bench mahjong` reports hands per second. Requires gzip on PATH.

use std::hint::black_box;
use std::process::Command;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ludex_env::Stream;
use ludex_games::mcr_mahjong::shanten::shanten;
use ludex_games::mcr_mahjong::tiles::{self, COPIES, Counts, KINDS, Tile};
use ludex_games::mcr_mahjong::{Edition, Flags, Hand, Meld, MeldKind};
use serde_json::Value;

const HANDS: usize = 4_096;
const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/oracles/mcr_fans.json.gz");

/// Reads the winning hands of the stored oracle file.
fn winning() -> Vec<Hand> {
    let read = |v: &Value| tiles::read(v.as_str().expect("a tile")).expect("a tile");
    let meld = |v: &Value| Meld {
        kind: match (v[0].as_str().expect("a word"), v[2].as_u64()) {
            ("CHI", _) => MeldKind::Chi,
            ("PENG", _) => MeldKind::Peng,
            (_, Some(0)) => MeldKind::Angang,
            _ => MeldKind::Gang,
        },
        tile: read(&v[1]),
    };
    let hand = |v: &Value| {
        let list = |field: &str| v[field].as_array().expect("a list").iter();
        let (flag, number) = (|name: &str| v[name] == true, |name: &str| v[name].as_u64().unwrap_or(0) as u8);
        let flags = Flags {
            self_drawn: flag("self_drawn"),
            fourth_tile: flag("fourth_tile"),
            about_kong: flag("about_kong"),
            wall_last: flag("wall_last"),
            seat_wind: number("seat_wind"),
            prevalent_wind: number("prevalent_wind"),
            flowers: number("flowers"),
        };
        let melds: Vec<Meld> = list("pack").map(meld).collect();
        Hand::new(&melds, tiles::counts(list("hand").map(read)), read(&v["win"]), flags)
    };
    let text = Command::new("gzip").args(["-dc", VECTORS]).output().expect("gzip").stdout;
    let all: Value = serde_json::from_slice(&text).expect("JSON");
    all["vectors"].as_array().expect("a list").iter().filter(|v| v["win_ok"] == true).map(hand).collect()
}

fn fans(c: &mut Criterion) {
    let hands = winning();
    let mut group = c.benchmark_group("fans");
    group.throughput(Throughput::Elements(hands.len() as u64));
    group.bench_function("oracle", |b| {
        b.iter(|| {
            let points = |hand: &Hand| {
                let mut hand = hand.clone();
                hand.correct();
                hand.score(Edition::Oracle).map_or(0, |score| score.total())
            };
            black_box(hands.iter().map(points).sum::<u32>())
        });
    });
    group.finish();
}

fn useful(c: &mut Criterion) {
    let mut rng = Stream::from_text("mahjong bench");
    let mut wall: Vec<Tile> = tiles::list(&[COPIES; KINDS]).collect();
    let mut hand = || {
        rng.shuffle(&mut wall);
        tiles::counts(wall[..13].iter().copied())
    };
    let hands: Vec<Counts> = (0..HANDS).map(|_| hand()).collect();
    let mut group = c.benchmark_group("shanten");
    group.throughput(Throughput::Elements(HANDS as u64));
    group.bench_function("useful", |b| {
        b.iter(|| black_box(hands.iter().map(|hand| shanten(hand, 0)).fold(0, |sum, s| sum ^ s.useful.0)));
    });
    group.finish();
}

criterion_group!(benches, fans, useful);
criterion_main!(benches);
