//! Steps per second per game: single states and batches, with and without observations.
//!
//! `cargo bench -p ludex-env`; the throughput figure is steps per second on one core. Of `rollout` it counts moves and chance
//! outcomes, of `checked` (legal actions listed, the chosen one checked) decisions alone.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ludex_env::batch::{Autoreset, ViewSet};
use ludex_env::{
    Actions, BatchConfig, Columns, DynBatch, DynState, MaskForm, Outcomes, Seeds, Stream, Turn, games, load,
};

const ROWS: usize = 1_024;

/// Measured besides the defaults of every game.
const MORE: &[&str] = &["go(board_size=9)"];

/// The strings of all games that are measured.
fn measured() -> impl Iterator<Item = &'static str> {
    games().iter().map(|entry| entry.id).chain(MORE.iter().copied())
}

/// One random legal action per environment and seat, drawn from the masks of the last answer: not part of the measure.
fn choose(batch: &dyn DynBatch, columns: &Columns, rng: &mut Stream, actions: &mut Vec<i32>) {
    actions.clear();
    let (width, n) = (batch.width(), batch.spec().actions as usize);
    for row in 0..columns.rows {
        for k in 0..width {
            let view = if columns.mask_len > 0 && columns.mask.len() / columns.mask_len > columns.rows {
                row * width + k
            } else {
                row
            };
            let a = if columns.mask_form == MaskForm::Ids {
                let ids = &columns.ids.a[columns.ids.o[view] as usize..columns.ids.o[view + 1] as usize];
                if ids.is_empty() { -1 } else { ids[rng.below(ids.len())] as i32 }
            } else {
                let mask = &columns.mask[view * n..(view + 1) * n];
                let legal = mask.iter().filter(|&&b| b == 1).count();
                let mut left = rng.below(legal);
                let nth = |&b: &u8| {
                    b == 1
                        && (left == 0 || {
                            left -= 1;
                            false
                        })
                };
                mask.iter()
                    .position({
                        let mut f = nth;
                        move |b| f(b)
                    })
                    .map_or(-1, |a| a as i32)
            };
            actions.push(a);
        }
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
            let mask = if game.spec().actions <= 512 { MaskForm::Bytes } else { MaskForm::Ids };
            let observer = if game.spec().dynamics == ludex_protocol::spec::Dynamics::Sequential {
                ludex_env::batch::Observer::Acting
            } else {
                ludex_env::batch::Observer::All
            };
            let config = BatchConfig {
                count: ROWS,
                autoreset: Autoreset::SameStep,
                views: ViewSet { tensor, ..ViewSet::default() },
                mask,
                observer,
                ..BatchConfig::default()
            };
            let mut batch = game.batch(config).expect("a batch opens");
            let (mut out, mut rng, mut actions) = (Columns::default(), Stream::named("bench"), Vec::new());
            batch.reset(None, &Seeds::Base(1), &mut out).expect("a reset works");
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

/// Games that one iteration plays: the same ones every time, so that the throughput is in moves.
const EPISODES: u32 = 16;

fn stream(episode: u32) -> Stream {
    Stream::named(&format!("episode {episode}"))
}

/// Plays at random through the checked interface, as a host does; returns the decisions made.
fn play_checked(state: &mut dyn DynState, rng: &mut Stream, legal: &mut Vec<u32>, outcomes: &mut Outcomes) -> u64 {
    let mut decisions = 0;
    loop {
        match state.turn() {
            Turn::Over => return decisions,
            Turn::Seat(seat) => {
                legal.clear();
                state.legal(seat, legal);
                let a = legal[rng.below(legal.len())];
                state.play(seat, a).expect("a legal action plays");
                decisions += 1;
            }
            Turn::Chance => {
                state.chance(outcomes);
                let a = rng.pick(outcomes).expect("chance has outcomes");
                state.play_chance(a).expect("an outcome plays");
            }
            Turn::Together(set) => {
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

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_millis(500));
    targets = batch, single
}
criterion_main!(benches);
