//! Writes the opening book of Connect Four's solver to standard output; see `solve::connect_four::book`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(&ludex_agents::solve::connect_four::book::make())
}
