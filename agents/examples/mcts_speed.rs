//! Simulations per second of `mcts` from the start position: `cargo run --release -p ludex-agents --example mcts_speed`.
//!
//! Arguments: games (default: tic_tac_toe and connect_four). `solve=false`, so that a solved position does not end it early.

use std::time::Instant;

use ludex_agents::build;
use ludex_env::erased::legal_list;
use ludex_env::{AgentKey, Ask, load};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let games = if named.is_empty() { vec!["tic_tac_toe".into(), "connect_four".into()] } else { named };
    for name in games {
        let game = load(&name)?;
        let state = game.start();
        let seats = state.turn().seats();
        let Some(seat) = seats.iter().next() else {
            println!("{name}: no seat acts first");
            continue;
        };
        let legal = legal_list(&*state, seat);
        for sims in [100u32, 1_000, 10_000, 100_000] {
            let agent = build(&format!("mcts sims={sims} solve=false"), &game)?;
            let turns = (400_000 / sims).max(1);
            let start = Instant::now();
            for turn in 0..turns {
                agent.act(&Ask::on_state(&*state, seat, turn, &legal, AgentKey::Own(&[7; 32])), None)?;
            }
            let rate = f64::from(turns * sims) / start.elapsed().as_secs_f64();
            println!("{name} sims={sims}: {:.0} k simulations/s", rate / 1e3);
        }
    }
    Ok(())
}
