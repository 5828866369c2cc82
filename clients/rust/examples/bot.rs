//! A bot that plays random legal moves against the server's random agent: `bot [URL] [GAME] [MATCHES]`.
#![forbid(unsafe_code)]

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use ludex_client::protocol::message::Join;
use ludex_client::{Options, TurnReply, TurnRequest, play};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or_else(|| "ws://127.0.0.1:7878".to_owned());
    let game = args.next().unwrap_or_else(|| "connect_four".to_owned());
    let count = args.next().map_or(Ok(1), |count| count.parse())?;
    let join = Join { against: Some(vec!["random".into()]), count, ..Join::new(game) };
    let random = RandomState::new();
    let played = play(&url, Options::default().agent("rust-bot"), join, move |request: TurnRequest| {
        let legal: Vec<u32> = request.legal.iter().collect();
        let draw = random.hash_one((&request.start.match_id, request.turn)) as usize;
        async move { Ok(TurnReply::action(*legal.get(draw % legal.len().max(1)).ok_or("nothing is legal")?)) }
    })
    .await?;
    for played in played {
        println!("{}: {:?}", played.start.match_id, played.own_return());
    }
    Ok(())
}
