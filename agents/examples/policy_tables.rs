//! Makes the stored policies of the agent `equilibrium` with CFR+, writes them to `agents/tables/`, and prints how good they
//! are: `cargo run --release -p ludex-agents --example policy_tables [GAME...]`.

use std::path::Path;
use std::time::Instant;

use ludex_agents::solve::cfr::Cfr;
use ludex_agents::solve::equilibrium::PolicyTable;
use ludex_agents::solve::tree::Tree;

/// Games, and the rounds of CFR+ after which more would be lost in the rounding to bytes.
const GAMES: [(&str, u32); 3] = [("kuhn_poker", 100_000), ("leduc_poker", 20_000), ("liars_dice", 4_000)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tables");
    println!("game | rounds | value of seat 0 | exploitability | as stored | bytes | seconds");
    for (name, rounds) in GAMES {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let start = Instant::now();
        let tree = Tree::build(&ludex_env::load(name)?, 1 << 20)?;
        let mut cfr = Cfr::new(&tree);
        cfr.run(rounds);
        let solved = cfr.average();
        let packed = PolicyTable::pack(&tree, &solved)?;
        let stored = PolicyTable::unpack(&packed).policy(&tree);
        std::fs::write(folder.join(format!("{name}.policy")), &packed)?;
        println!(
            "{name} | {rounds} | {:.6} | {:.6} | {:.6} | {} | {:.0}",
            tree.values(&stored)[0],
            tree.exploitability(&solved),
            tree.exploitability(&stored),
            packed.len(),
            start.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}
