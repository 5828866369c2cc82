//! Prints what an `llm` agent would say about a game's first position, without an endpoint:
//! `cargo run -p ludex-agents --example prompt -- "llm model=m prompting=cot" hanabi`.

use ludex_agents::AgentSpec;
use ludex_agents::llm::render;
use ludex_env::{AgentKey, Ask, Draw, Outcomes, Turn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(spec), Some(game)) = (args.next(), args.next()) else {
        return Err("a spec and a game are needed, such as \"llm model=m\" hanabi".into());
    };
    let (spec, game) = (AgentSpec::parse(&spec)?, ludex_env::load(&game)?);
    let (mut state, mut draw, mut outcomes) = (game.start(), Draw::new(game.id(), 0, 0), Outcomes::new());
    while state.turn() == Turn::Chance {
        state.chance(&mut outcomes);
        state.play_chance(draw.pick(&outcomes).ok_or("chance has no outcomes")?)?;
    }
    let seat = state.turn().seats().iter().next().ok_or("nobody is to move")?;
    let legal = state.legal_list(seat);
    let ask = Ask::on_state(&*state, seat, 0, &legal, AgentKey::Episode(&draw));
    for message in render(&spec, &game, &ask)? {
        println!("--- {:?}\n{}\n", message.role, message.content);
    }
    Ok(())
}
