//! A bot that plays the first legal move against the server's random agent: `bot [URL] [GAME]`.
#![forbid(unsafe_code)]

use ludex_client::protocol::message::Join;
use ludex_client::{Error, Options, TurnReply, TurnRequest, play};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or_else(|| "ws://127.0.0.1:7878".to_owned());
    let game = args.next().unwrap_or_else(|| "connect_four".to_owned());
    let join = Join { against: Some(vec!["random".into()]), ..Join::new(game) };
    let played = play(&url, Options::default().agent("rust-bot"), join, |request: TurnRequest| async move {
        Ok(TurnReply::action(request.legal.iter().next().ok_or("nothing is legal")?))
    })
    .await?;
    played.iter().for_each(|played| println!("{}: {:?}", played.start.match_id, played.own_return()));
    Ok(())
}
