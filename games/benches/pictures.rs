//! Time to draw a picture of one position from the middle of a random episode.
//!
//! `cargo bench -p ludex-games --bench pictures`. The target is less than 200 microseconds for boards up to 15x15.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ludex_env::{Stream, ToMove, Viewer};
use ludex_games::{games, load};

fn pictures(c: &mut Criterion) {
    let mut group = c.benchmark_group("picture");
    // The default Go board is 19x19, above the target's largest board, so a 13x13 board is measured too.
    for name in games().iter().map(|entry| entry.info.id).chain(["go(board_size=13)"]) {
        let game = load(name).expect("a built-in game loads");
        let mut rng = Stream::from_text(name);
        let mut ends = game.start();
        let plies = ends.rollout(&mut rng, 1_000);
        let mut state = game.start();
        state.rollout(&mut Stream::from_text(name), plies / 2);
        let who = state.turn().seat().map_or(Viewer::Public, Viewer::Seat);
        let view = state.view(who);
        group.bench_function(name, |b| b.iter(|| black_box(view.picture(who))));
        assert!(ends.turn() == ToMove::Over || plies == 1_000);
    }
    group.finish();
}

criterion_group!(benches, pictures);
criterion_main!(benches);
