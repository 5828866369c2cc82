//! Downloads of matches in the notations of their games, and evaluations of positions by agents.

use ludex_env::{Move, ParsedMove, ToMove};
use ludex_games::load;
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};

use super::{BROWSER, ask, page};

/// Returns the actions of a released record, in order.
async fn actions(server: &Server, id: &str) -> Vec<u32> {
    let record: Value = serde_json::from_str(&server.get(&format!("/episodes/{id}")).await.1).unwrap();
    record["events"].as_array().unwrap().iter().map(|e| e["action"].as_u64().unwrap() as u32).collect()
}

/// Plays an unrated match against `random` with random moves and returns its id.
async fn picture_page(server: &Server, game: &str) -> String {
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": game, "against": ["random"], "count": 1})).await;
    let mut rng = ludex_env::Stream::from_text(game);
    bot.play(1, |turn: &Value| {
        let legal = turn["legal"].as_array().unwrap();
        json!({"action": legal[rng.below(legal.len())]})
    })
    .await;
    bot.only().0.to_owned()
}

#[tokio::test]
async fn chess_match_downloads_as_pgn() {
    let server = Server::start(|_| {}).await;
    let id = picture_page(&server, "chess(max_plies=40)").await;
    let body = page(&server, &format!("/matches/{id}")).await;
    assert!(body.contains(&format!("href=\"/matches/{id}/notation\" download=\"{id}.pgn\"")), "{body}");
    let answer = ask(&server, &format!("GET /matches/{id}/notation"), "").await;
    let (head, pgn) = answer.split_once("\r\n\r\n").unwrap();
    for said in ["application/vnd.chess-pgn", "nosniff", &format!("attachment; filename=\"{id}.pgn\"")] {
        assert!(head.contains(said), "{said}: {head}");
    }
    let (tags, moves) = pgn.split_once("\n\n").unwrap();
    assert!(tags.contains("[White \"") && tags.contains(&format!("[Episode \"{id}\"]")), "{tags}");
    // The moves are parsed back from standard chess notation.
    let game = load("chess(max_plies=40)").unwrap();
    let (mut state, mut read) = (game.start(), Vec::new());
    let words: Vec<&str> = moves.split_whitespace().collect();
    let (result, words) = words.split_last().unwrap();
    for word in words.iter().filter(|word| !word.ends_with('.')) {
        let ToMove::Seat(seat) = state.turn() else { panic!("over before {word}") };
        let san = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let Ok(ParsedMove::Action(action)) = state.parse_move(seat, &Move::Text(san.to_owned())) else {
            panic!("{word}: {pgn}")
        };
        state.play(seat, action).unwrap();
        read.push(action);
    }
    assert_eq!(read, actions(&server, &id).await);
    assert!(!read.is_empty() && ["1-0", "0-1", "1/2-1/2"].contains(result), "{result}");
}

#[tokio::test]
async fn go_match_downloads_as_sgf() {
    let server = Server::start(|_| {}).await;
    let id = picture_page(&server, "go(board_size=5)").await;
    let (status, sgf) = server.get(&format!("/matches/{id}/notation")).await;
    assert_eq!(status, 200);
    assert!(sgf.starts_with("(;FF[4]CA[UTF-8]GM[1]SZ[5]") && sgf.trim_end().ends_with(')'), "{sgf}");
    assert!(sgf.contains("P") && sgf.contains("RE["), "{sgf}");
    // SGF points count columns from the left and rows from the top; our ids count rows from the bottom.
    let moves = sgf.trim_end().trim_end_matches(')').split(';').skip(2).map(|node| {
        let inside = node.trim().trim_start_matches(['B', 'W']).trim_matches(['[', ']']);
        match inside.as_bytes() {
            [column, row] => u32::from(column - b'a') + 5 * (4 - u32::from(row - b'a')),
            [] => 25,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(moves.collect::<Vec<_>>(), actions(&server, &id).await);
}

#[tokio::test]
async fn download_requires_released_record_and_notation() {
    let server = Server::start(|_| {}).await;
    let refused = async |id: &str| {
        let (status, body) = server.get(&format!("/matches/{id}/notation")).await;
        assert_eq!((status, body.contains("unknown_match")), (404, true), "{body}");
        let body = server.get_with(&format!("/matches/{id}"), BROWSER).await.1;
        assert!(!body.contains("/notation"), "{body}");
    };
    refused("m_0").await;
    let mut bot = Bot::new(server.address, "mybot").await;
    // The first match of a pair is over, but its seed is still secret.
    bot.join(json!({"game": "gomoku(size=9)", "against": ["random"], "rated": true, "count": 2})).await;
    let turn = bot.wait("turn").await;
    refused(turn["match"].as_str().unwrap()).await;
    bot.act(&turn, first(&turn)).await;
    bot.play(1, first).await;
    let over = bot.matches.iter().find(|(_, seen)| !seen.end.is_null()).unwrap().0.clone();
    refused(&over).await;
    bot.play(2, first).await;
    let (status, sgf) = server.get(&format!("/matches/{over}/notation")).await;
    assert!(status == 200 && sgf.contains("GM[4]SZ[9]"), "{sgf}");
    let other = super::played(&server, "other", "tic_tac_toe").await;
    refused(&other).await;
}

#[tokio::test]
async fn value_curves_are_hidden_until_match_end() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "connect_four", "against": ["alphabeta depth=1"], "count": 1})).await;
    let mut choose = |turn: &Value| json!({"action": turn["legal"][0], "notes": {"value": 0.37, "analysis": "secret"}});
    let turn = bot.wait("turn").await;
    let id = turn["match"].as_str().unwrap().to_owned();
    bot.act(&turn, choose(&turn)).await;
    let live = page(&server, &format!("/matches/{id}")).await;
    for hidden in ["class=\"figure\"", "Expected result", "secret"] {
        assert!(!live.contains(hidden), "{hidden}: {live}");
    }
    bot.play(1, &mut choose).await;
    let body = page(&server, &format!("/matches/{id}")).await;
    for said in ["<svg class=\"figure\"", "Expected result", "mybot (", "Higher is better for", "curves.css?"] {
        assert!(body.contains(said), "{said}: {body}");
    }
    // The second seat's value is displayed from the first seat's point of view.
    let sign = if bot.only().1.start["seat"] == 0 { ">0.37<" } else { ">-0.37<" };
    assert!(body.contains(sign), "{sign}: {body}");
    let (status, css) = server.get("/static/curves.css").await;
    assert!(status == 200 && css.contains("svg.figure"), "{css}");
}
