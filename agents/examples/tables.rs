//! Computes the tables built into this crate: the policies of `equilibrium`, and the Connect Four opening book of
//! `solver`.
//!
//! ```text
//! cargo run --release -p ludex-agents --example tables -- [--check] [NAME...]
//! ```
//!
//! Writes the named tables (default: all); with `--check`, compares them with the stored files instead.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use ludex_agents::solve::cfr::Cfr;
use ludex_agents::solve::connect_four::book;
use ludex_agents::solve::equilibrium::PolicyTable;
use ludex_agents::solve::tree::GameTree;

/// Table name, path of the stored file, and function that computes the table.
type Table = (&'static str, &'static str, fn() -> Result<Vec<u8>, Box<dyn Error>>);

/// All tables, each with the number of rounds of CFR+ that computes it. More rounds would not change the policies after
/// rounding to bytes.
const TABLES: [Table; 4] = [
    ("kuhn_poker", "tables/kuhn_poker.policy", || policy("kuhn_poker", 100_000)),
    ("leduc_poker", "tables/leduc_poker.policy", || policy("leduc_poker", 20_000)),
    ("liars_dice", "tables/liars_dice.policy", || policy("liars_dice", 4_000)),
    ("connect_four", "src/solve/connect_four/book.bin", || Ok(book::generate())),
];

/// Solves a game by CFR+, prints the quality of the policy before and after packing, and returns the packed policy.
fn policy(name: &str, rounds: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let tree = GameTree::build(&ludex_games::load(name)?, 1 << 20)?;
    let mut cfr = Cfr::new(&tree);
    cfr.run(rounds);
    let solved = cfr.average();
    let packed = PolicyTable::pack(&tree, &solved)?;
    let stored = PolicyTable::unpack(&packed).policy(&tree);
    println!(
        "{name}: {rounds} rounds, value of seat 0 {:.6}, exploitability {:.6}, packed {:.6}",
        tree.values(&stored)[0],
        tree.exploitability(&solved),
        tree.exploitability(&stored),
    );
    Ok(packed)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (options, names): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg.starts_with('-'));
    let is_check = match &*options {
        [] => false,
        [option] if option == "--check" => true,
        _ => return Err(format!("expected [--check] [NAME...], got {}", options.join(" ")).into()),
    };
    if let Some(name) = names.iter().find(|&name| TABLES.iter().all(|table| table.0 != name)) {
        let allowed = TABLES.map(|table| table.0).join(", ");
        return Err(format!("expected a table, got {name}; allowed: {allowed}").into());
    }
    let mut stale = Vec::new();
    for (name, path, compute) in TABLES {
        if !names.is_empty() && !names.iter().any(|n| n == name) {
            continue;
        }
        let start = Instant::now();
        let bytes = compute()?;
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let is_equal = fs::read(&file).is_ok_and(|stored| stored == bytes);
        let verdict = if is_equal { "unchanged" } else { "changed" };
        println!("{name}: {verdict}, {} bytes, {:.0} s", bytes.len(), start.elapsed().as_secs_f64());
        if !is_equal && is_check {
            stale.push(name);
        } else if !is_equal {
            fs::write(&file, &bytes)?;
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("stored tables differ: {}", stale.join(", ")).into()) }
}
