//! Steps per second of each game, for single states and for batches, with and without observations.
//!
//! `cargo bench -p ludex-games --bench steps` reports steps per second on one core. A step is a move or a chance
//! outcome in `rollout`, and a decision in `checked`, which also lists the legal actions and checks the chosen one.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ludex_env::batch::{Autoreset, GymView, Observer};
use ludex_env::{Actions, BatchConfig, DynBatch, DynState, Outcomes, ResetSeeds, Stream, ToMove};
use ludex_games::{games, load};
use ludex_protocol::Move;
use ludex_protocol::message::{Batch, Mask};
use ludex_protocol::spec::Dynamics;

const ROWS: usize = 1_024;

/// Game strings measured in addition to the default of every game.
const MORE: &[&str] = &["go(board_size=9)", "free_style(rules=F0)", "free_style(rules=F1)"];

/// Returns an iterator over the game strings of all measured games.
fn measured() -> impl Iterator<Item = &'static str> {
    games().iter().map(|entry| entry.info.id).chain(MORE.iter().copied())
}

/// Draws a random legal action for each environment and seat from the masks of the last reply. Callers exclude this
/// work from the measured time.
fn choose(batch: &dyn DynBatch, answer: &Batch, rng: &mut Stream, actions: &mut Vec<i32>) {
    actions.clear();
    let (width, n) = (batch.width(), batch.spec().actions as usize);
    for view in 0..ROWS * width {
        let a = match &answer.mask {
            Some(Mask::Ids(ids)) => {
                let ids = ids.row(view);
                if ids.is_empty() { -1 } else { ids[rng.below(ids.len())] as i32 }
            }
            Some(Mask::Dense(masks)) => {
                let mask = &masks.as_bytes()[view * n..(view + 1) * n];
                let left = rng.below(mask.iter().filter(|&&b| b == 1).count());
                let legal = mask.iter().enumerate().filter(|(_, b)| **b == 1);
                legal.map(|(a, _)| a as i32).nth(left).unwrap_or(-1)
            }
            None => -1,
        };
        actions.push(a);
    }
}

fn batch(c: &mut Criterion) {
    let mut group = c.benchmark_group("batch");
    group.throughput(Throughput::Elements(ROWS as u64));
    for string in measured() {
        let game = load(string).expect("a measured game loads");
        for tensor in [true, false] {
            if tensor && game.spec().views.tensor.is_none() {
                continue;
            }
            let sequential = game.spec().dynamics == Dynamics::Sequential;
            let config = BatchConfig {
                count: ROWS,
                autoreset: Autoreset::SameStep,
                views: Some(if tensor { vec![GymView::Tensor] } else { Vec::new() }),
                observer: if sequential { Observer::Acting } else { Observer::All },
                ..BatchConfig::default()
            };
            let mut batch = game.batch(config).expect("a batch opens");
            let (mut out, mut rng, mut actions) = (Batch::default(), Stream::from_text("bench"), Vec::new());
            batch.reset(None, &ResetSeeds::Base(1), &mut out).expect("a reset works");
            let name = if tensor { "observations" } else { "masks" };
            group.bench_function(BenchmarkId::new(string, name), |b| {
                b.iter_custom(|times| {
                    let mut spent = std::time::Duration::ZERO;
                    for _ in 0..times {
                        choose(&*batch, &out, &mut rng, &mut actions);
                        let start = std::time::Instant::now();
                        batch.step(None, Actions::Ids(&actions), &mut out).expect("legal actions step");
                        spent += start.elapsed();
                        black_box(&out);
                    }
                    spent
                });
            });
        }
    }
    group.finish();
}

/// Number of episodes per iteration. All iterations play the same episodes and thus the same number of moves, which is
/// the unit of throughput.
const EPISODES: u32 = 16;

fn stream(episode: u32) -> Stream {
    Stream::from_text(&format!("episode {episode}"))
}

/// Plays random moves through the checked interface, as a host does, and returns the number of decisions.
fn play_checked(state: &mut dyn DynState, rng: &mut Stream, legal: &mut Vec<u32>, outcomes: &mut Outcomes) -> u64 {
    let mut decisions = 0;
    loop {
        match state.turn() {
            ToMove::Over => return decisions,
            ToMove::Seat(seat) => {
                legal.clear();
                state.legal(seat, legal);
                let a = legal[rng.below(legal.len())];
                state.play(seat, a).expect("a legal action plays");
                decisions += 1;
            }
            ToMove::Chance => {
                state.chance(outcomes);
                let a = rng.pick(outcomes).expect("chance has outcomes");
                state.play_chance(a).expect("an outcome plays");
            }
            ToMove::Simultaneous(set) => {
                let players = state.spec().players as usize;
                let mut joint = vec![None; players];
                set.iter().for_each(|seat| joint[seat] = Some(state.random_action(seat, rng)));
                state.play_together(&joint).expect("a joint move plays");
                decisions += 1;
            }
        }
    }
}

fn single(c: &mut Criterion) {
    let mut group = c.benchmark_group("single");
    for string in measured() {
        let game = load(string).expect("a measured game loads");
        let (start, mut state) = (game.start(), game.start());
        let (mut legal, mut outcomes) = (Vec::new(), Outcomes::new());
        let moves: usize = (0..EPISODES).map(|k| game.start().rollout(&mut stream(k), 10_000)).sum();
        group.throughput(Throughput::Elements(moves as u64));
        group.bench_function(BenchmarkId::new(string, "rollout"), |b| {
            b.iter(|| {
                for k in 0..EPISODES {
                    state.copy_from(&*start);
                    black_box(state.rollout(&mut stream(k), 10_000));
                }
            });
        });
        let mut all = |state: &mut dyn DynState| -> u64 {
            let episodes = (0..EPISODES).map(|k| {
                state.copy_from(&*start);
                play_checked(state, &mut stream(k), &mut legal, &mut outcomes)
            });
            episodes.sum()
        };
        group.throughput(Throughput::Elements(all(&mut *state)));
        group.bench_function(BenchmarkId::new(string, "checked"), |b| b.iter(|| all(&mut *state)));
    }
    group.finish();
}

/// Measures parsing of Free Style proposals. A repeated proposal is cached; a new one is first validated with random
/// games.
fn documents(c: &mut Criterion) {
    let mut group = c.benchmark_group("documents");
    let state = load("free_style").expect("a game").start();
    let mut rng = Stream::from_text("proposals");
    let drawn = std::iter::repeat_with(|| state.sample(0, &mut rng)).flatten();
    let proposals: Vec<Move> = drawn.filter(|said| said["rules"].is_object()).map(Move::Document).take(32).collect();
    group.bench_function("repeated", |b| {
        b.iter(|| black_box(state.parse_move(0, &proposals[0])).expect("a valid proposal"))
    });
    group.bench_function("judged", |b| {
        let mut next = proposals.iter().cycle();
        b.iter(|| black_box(state.parse_move(0, next.next().expect("endless"))).expect("a valid proposal"));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_millis(500));
    targets = batch, single, documents
}
criterion_main!(benches);
