//! Scripted players that send only texts, against `random`, which plays by ids.

use std::time::Duration;

use ludex_tests::Server;
use serde_json::{Value, json};
use tokio::process::Command;

use super::plans::{GAMES, plans};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");

/// Embeds a document in text, as a talkative player would.
fn text(document: &Value) -> Value {
    format!("I have thought about it.\n```json\n{document}\n```\nThat is my answer.").into()
}

/// Plays a match in which the client in seat 0 sends these lines; returns its verified record.
async fn played(server: &Server, game: &str, lines: &[Value], against: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("script.jsonl");
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, lines).expect("a file");
    let mut command = Command::new(PROGRAM);
    command.arg("join").arg(server.address.to_string()).args(["--game", game, "--against", against]);
    command.args(["--agent", &format!("script file={}", file.display()), "--seat", "0", "--json"]);
    let output = command.kill_on_drop(true).output().await.expect("the program");
    assert!(output.status.success(), "{game}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let path = document["matches"][0]["record"].as_str().expect("a record").to_owned();
    // The server may store an unrated match a moment after its end.
    while !server.get(&path).await.1.contains("\"digest\"") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    super::record(server, path.trim_start_matches("/episodes/")).await
}

/// Returns the moves of a seat in a record.
fn moves(record: &Value, seat: u32) -> Vec<&Value> {
    let events = record["events"].as_array().expect("events").iter();
    events.filter(|event| event["kind"] == "move" && event["seat"] == seat).collect()
}

#[tokio::test]
async fn plan_games_are_playable_by_text() {
    let server = Server::start(|_| {}).await;
    for game in GAMES {
        let [own, other] = [0, 1].map(|side| plans(game, side));
        // The first document is over budget, so the seat gets a second request; then it sends a text without a
        // document.
        let begins = [text(&own.over), json!(["I have no plan yet.", text(&own.sound)])];
        let keep = json!({"keep": true});
        let forms = [
            ("revise=alternate", vec![text(&own.other), text(&keep)]),
            ("revise=both", vec![text(&own.other), text(&keep), text(&own.sound)]),
            ("revise=both,roles=alternate", vec![text(&other.sound), text(&own.other), text(&other.other)]),
        ];
        for (form, then) in forms {
            let lines = [&begins[..], &then].concat();
            let name = format!("{game}(format=match,rounds=4,{form})");
            let record = played(&server, &name, &lines, "random").await;
            assert_eq!(record["reason"], "finished", "{name}");
            let [said, chosen] = [moves(&record, 0), moves(&record, 1)];
            assert_eq!(said.len(), lines.len(), "{name}: each line is a turn");
            assert!(said.iter().all(|m| m["document"].is_object() && m["action"].is_null()), "{name}: {said:?}");
            assert!(chosen.iter().all(|m| m["document"].is_null() && m["action"].is_u64()), "{name}");
            let codes = said.iter().flat_map(|m| m["tries"].as_array().cloned().unwrap_or_default());
            let codes: Vec<Value> = codes.map(|attempt| attempt["code"].clone()).collect();
            assert_eq!(codes, ["unparsed"], "{name}");
        }
    }
    server.stop().stopped().await;
}

/// Checks a script that plays without seeing the position. Seat a proposes rules and seat b accepts or rejects them. In
/// either case, seat a then plays in column a. The other seat cannot place a piece there, so the script knows its moves
/// in advance.
#[tokio::test]
async fn free_style_is_playable_by_text() {
    let server = Server::start(|_| {}).await;
    let mut rules: Value =
        serde_json::from_str(include_str!("../../../../games/src/free_style/tests/f2.json")).unwrap();
    rules["first"] = "random".into();
    let message = json!({"act": "propose", "rules": rules, "say": "Let chance say who begins."});
    let mut lines = vec![json!(["Any rules will do.", text(&message)])];
    lines.extend((1..=5).map(|row| match row {
        1 => text(&json!({"move": "a1=3"})),
        _ => format!("a{row}=3").into(),
    }));
    let (mut agreed, mut refused) = (0, 0);
    for seed in 0..40 {
        if agreed > 0 && refused > 0 {
            break;
        }
        let game = "free_style(messages=2,fallback=F2)";
        let record = played(&server, game, &lines, &format!("random seed={seed}")).await;
        assert_eq!(record["reason"], "finished", "{record}");
        let (said, chosen) = (moves(&record, 0), moves(&record, 1));
        assert_eq!((said.len(), chosen.len()), (6, 6), "a message and five plies each");
        assert_eq!(said[0]["document"]["rules"]["first"], "random", "{record}");
        assert_eq!(said[0]["tries"][0]["code"], "unparsed", "{record}");
        assert!(chosen.iter().all(|m| m["action"].is_u64()), "{record}");
        // Only the rules written by the script draw the first player at random.
        let drawn = record["events"].as_array().expect("events").iter().filter(|e| e["kind"] == "chance").count();
        match chosen[0]["action"].as_u64() {
            Some(3) => agreed += drawn,
            _ => refused += 1 + drawn * 1_000,
        }
    }
    assert!(agreed > 0 && (1..1_000).contains(&refused), "{agreed} draws after an agreement, {refused} without");
    server.stop().stopped().await;
}
