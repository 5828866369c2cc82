//! Throughput of poker on one core: strength of seven-card hands, and exact equity over all boards.
//!
//! `cargo bench -p ludex-games --bench poker` reports hands per second.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ludex_env::Stream;
use ludex_games::cards::{Card, Equity, Hand, cards};

const HANDS: usize = 4_096;

/// Samples random seven-card hands.
fn deals() -> Vec<[Card; 7]> {
    let mut rng = Stream::from_text("poker bench");
    let mut deck: Vec<Card> = (0..52).collect();
    let mut hand = || {
        rng.shuffle(&mut deck);
        std::array::from_fn(|i| deck[i])
    };
    (0..HANDS).map(|_| hand()).collect()
}

fn strength(c: &mut Criterion) {
    let deals = deals();
    let hands: Vec<Hand> = deals.iter().map(|d| d.iter().copied().collect()).collect();
    let mut out = vec![0; HANDS];
    Hand::strengths(&hands, &mut out);
    let mut group = c.benchmark_group("strength");
    group.throughput(Throughput::Elements(HANDS as u64));
    group.bench_function("from seven cards", |b| {
        b.iter(|| {
            let all = deals.iter().map(|d| d.iter().copied().collect::<Hand>().strength());
            black_box(all.fold(0u32, |sum, s| sum.wrapping_add(s.into())))
        });
    });
    group.bench_function("batched", |b| {
        b.iter(|| {
            Hand::strengths(black_box(&hands), &mut out);
            black_box(&out);
        });
    });
    group.finish();
}

fn equity(c: &mut Criterion) {
    let hands = ["As Ad", "7h 6h"].map(|h| cards(h).expect("cards"));
    let board = cards("Kc 5h").expect("cards");
    let mut group = c.benchmark_group("equity");
    group.throughput(Throughput::Elements(2 * Equity::exact(&hands, &board).boards()));
    group.bench_function("exact", |b| b.iter(|| black_box(Equity::exact(&hands, &board))));
    group.finish();
}

criterion_group!(benches, strength, equity);
criterion_main!(benches);
