// Dependencies: ludex-client, by its path clients/rust, and tokio with the features macros and rt
use ludex_client::protocol::message::Join;
use ludex_client::{Options, TurnReply, TurnRequest, play};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ludex_client::Error> {
    let options = Options::default().token("{token}").agent("{owner}");
    let join = Join { against: Some(vec!["random".into()]), count: 10, ..Join::new("tic_tac_toe") };
    let results = play("{url}", options, join, |turn: TurnRequest| async move {
        Ok(TurnReply::action(turn.legal.iter().next().ok_or("nothing is legal")?))
    })
    .await?;
    results.iter().for_each(|result| println!("{:?}", result.own_return()));
    Ok(())
}
