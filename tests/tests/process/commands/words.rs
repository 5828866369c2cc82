//! Games with words as moves, played by every kind of agent, from the command to the verified record.

use std::path::Path;

use ludex_protocol::record::{EndReason, Record};

use super::llm_stub::Stub;
use super::{folder, ludex};

/// Plays `pairs` of a game between these agents and returns the verified records.
fn played(at: &Path, game: &str, seats: &[&str], pairs: &str) -> Vec<Record> {
    let mut args = vec!["match", game, "--blocks", pairs, "--seed", "5", "--out", "words.jsonl", "--jobs", "1"];
    seats.iter().for_each(|seat| args.extend(["--seat", seat]));
    ludex(at, &args).well();
    ludex(at, &["verify", "words.jsonl"]).well();
    let text = std::fs::read_to_string(at.join("words.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_agent_plays_text_games() {
    let stub = Stub::start(&["--documents", "--malformed", "0.3", "--seed", "1"]);
    let model = format!("llm model=m base_url=http://{}/v1 stub=true", stub.address);
    let at = folder();
    let (mut said, mut refused) = (0, 0);
    for (game, others) in [
        ("bargaining(preset=llmarena,max_turns=6)", &["random", "random documents=1", "mcts sims=20"][..]),
        ("free_style", &["random", "random documents=1", "mcts sims=20"][..]),
        ("undercover(preset=llmarena_guess)", &["random"][..]),
    ] {
        for other in others {
            let five = ["random", "random documents=1", "mcts sims=20", "stock_speaker", &model];
            let two = [other, model.as_str()];
            let seats = if game.starts_with("undercover") { &five[..] } else { &two[..] };
            for record in played(at.path(), game, seats, "1") {
                assert!(record.footer.reason.is_some_and(EndReason::counts), "{record:?}");
                let text = serde_json::to_string(&record).unwrap();
                said += text.matches("\"document\":").count();
                refused += text.matches("\"tries\":[").count();
            }
        }
    }
    assert!(said > 20 && refused > 3, "{said} documents in the records, {refused} moves after refused tries");
}
