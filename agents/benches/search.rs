//! Measures `mcts` simulations per second at the first decision of every game.
//!
//! Run with `cargo bench -p ludex-agents`. `docs/benchmarks/peers.sh` compares searches of 1,000 simulations.
//! Throughput is in simulations per second on one core. The searches use `solve=false`, because a proven position would
//! end a search early.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ludex_agents::build;
use ludex_env::{AgentKey, DynState, GameRef, MoveRequest, Outcomes, Stream, ToMove};
use ludex_games::{games, load};

/// Game variants measured in addition to the default form of every game.
const MORE: &[&str] = &["go(board_size=9)"];

/// Returns the first position in which a seat acts.
fn first_decision(game: &GameRef) -> Box<dyn DynState> {
    let (mut state, mut rng, mut outcomes) = (game.start(), Stream::from_text("bench"), Outcomes::new());
    while state.turn() == ToMove::Chance {
        state.chance(&mut outcomes);
        let a = rng.pick(&outcomes).expect("chance has outcomes");
        state.play_chance(a).expect("an outcome plays");
    }
    state
}

fn mcts(c: &mut Criterion) {
    let mut group = c.benchmark_group("mcts");
    for string in games().iter().map(|entry| entry.info.id).chain(MORE.iter().copied()) {
        let game = load(string).expect("a measured game loads");
        let state = first_decision(&game);
        let seat = state.turn().seats().iter().next().expect("a seat acts first");
        let legal = state.legal_list(seat);
        for sims in [100, 1_000, 10_000] {
            let agent = build(&format!("mcts sims={sims} solve=false"), &game).expect("mcts plays every game");
            group.throughput(Throughput::Elements(sims));
            let mut turn = 0;
            group.bench_function(BenchmarkId::new(string, sims), |b| {
                b.iter(|| {
                    turn += 1;
                    let ask = MoveRequest::on_state(&*state, seat, turn, &legal, AgentKey::Own(&[7; 32]));
                    agent.act(&ask).expect("mcts answers")
                });
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(std::time::Duration::from_secs(1)).warm_up_time(std::time::Duration::from_millis(300));
    targets = mcts
}
criterion_main!(benches);
