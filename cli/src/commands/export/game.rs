//! Games in the notations that other programs read: PGN and SGF.

use ludex_env::games::{chess, go, gomoku, reversi};
use ludex_env::history::position;
use ludex_env::{Action, Seat, Viewer};
use ludex_protocol::record::{Outcome, Reason, RecordEvent};
use ludex_referee::Verified;
use ludex_referee::read::Lines;
use serde_json::Value;

use super::{Format, print, records};

/// The verified games that a format can express. The others are counted on standard error.
pub(super) fn texts(
    lines: Lines,
    which: Option<&records::Which>,
    format: Format,
    name: &str,
) -> anyhow::Result<Vec<String>> {
    let sgf_asked = format == Format::Sgf;
    let stones = ["go", "gomoku", "reversi"];
    let has_words = |game: &str| if sgf_asked { stones.contains(&game) } else { game == "chess" };
    let (good, refused) = records::verified(lines, which);
    records::warn(&refused);
    let (games, others): (Vec<_>, Vec<_>) = good.iter().partition(|v| has_words(&v.spec().game));
    if games.is_empty() {
        let (label, form) = if sgf_asked { ("Go, gomoku or reversi", "SGF") } else { ("chess", "PGN") };
        anyhow::bail!("{name} has no verified game of {label}, and {form} is for these only");
    }
    if !others.is_empty() {
        eprintln!("ludex: left out: {} of other games", print::count(others.len(), "episode", "episodes"));
    }
    games.into_iter().map(if sgf_asked { sgf } else { pgn }).collect()
}

/// The moves with their seats, without chance and speech.
fn moves(game: &Verified) -> Vec<(Seat, Action)> {
    let events = game.record().events.iter();
    let moves =
        events.filter_map(|e| if let RecordEvent::Move(m) = e { Some((m.seat as Seat, m.action?)) } else { None });
    moves.collect()
}

fn name(game: &Verified, seat: usize) -> &str {
    game.record().header.seats.get(seat).map_or("?", |s| s.name.as_str())
}

/// A verified game of chess.
fn pgn(game: &Verified) -> anyhow::Result<String> {
    let record = game.record();
    let moves: Vec<u32> = moves(game).into_iter().map(|(_, action)| action).collect();
    // White is seat 1.
    let (black, white) = (0, 1);
    let result = match record.footer.outcome.get(white) {
        Some(Outcome::Win) => "1-0",
        Some(Outcome::Loss) => "0-1",
        Some(Outcome::Draw) => "1/2-1/2",
        Some(Outcome::None) | None => "*",
    };
    let date = record.header.started.get(..10).map_or("????.??.??".to_owned(), |d| d.replace('-', "."));
    let termination = match game.reason() {
        Reason::Finished | Reason::Resign => "normal",
        Reason::Timeout => "time forfeit",
        Reason::Illegal | Reason::AgentError => "rules infraction",
        Reason::Disconnect | Reason::NoShow => "abandoned",
        Reason::Truncated => "adjudication",
        Reason::InfraError | Reason::Aborted => "unterminated",
    };
    let tags = [
        ("Event", record.footer.run.as_deref().unwrap_or("?")),
        ("Site", &record.header.server),
        ("Date", &date),
        ("Round", "-"),
        ("White", name(game, white)),
        ("Black", name(game, black)),
        ("Termination", termination),
        ("Episode", &record.header.episode),
    ];
    let start = record.header.params.get("fen").and_then(Value::as_str);
    chess::pgn(start, &moves, result, &tags).map_err(anyhow::Error::msg)
}

/// A verified game of Go, gomoku or reversi.
fn sgf(game: &Verified) -> anyhow::Result<String> {
    let record = game.record();
    let date = record.header.started.get(..10).unwrap_or_default();
    let result = result(game);
    let properties = [
        ("AP", record.header.server.replace('/', ":")),
        ("PB", name(game, 0).to_owned()),
        ("PW", name(game, 1).to_owned()),
        ("RE", result),
        ("DT", date.to_owned()),
        ("EV", record.footer.run.clone().unwrap_or_default()),
        ("GN", record.header.episode.clone()),
    ];
    let properties: Vec<(&str, &str)> =
        properties.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (*name, value.as_str())).collect();
    let params = Value::Object(record.header.params.clone());
    let (moves, id) = (moves(game), game.spec().game.as_str());
    Ok(match id {
        _ if id == "go" => go::sgf(&serde_json::from_value(params)?, &moves, &properties),
        _ if id == "gomoku" => gomoku::sgf(&serde_json::from_value(params)?, &moves, &properties),
        _ => reversi::sgf(&moves, &properties),
    })
}

/// `B+3.5`, `W+R`, `0`, or `Void` for a match that does not count.
fn result(game: &Verified) -> String {
    let winner = match game.record().footer.outcome.first() {
        Some(Outcome::Win) => 'B',
        Some(Outcome::Loss) => 'W',
        Some(Outcome::Draw) => return "0".to_owned(),
        Some(Outcome::None) | None => return "Void".to_owned(),
    };
    let by = match game.reason() {
        Reason::Resign => "R".to_owned(),
        Reason::Timeout => "T".to_owned(),
        Reason::Finished | Reason::Truncated => lead(game).map(|lead| lead.abs().to_string()).unwrap_or_default(),
        _ => "F".to_owned(),
    };
    format!("{winner}+{by}")
}

/// How far Black leads at the end, if the board is counted; only Go's view says so.
fn lead(game: &Verified) -> Option<f64> {
    position(&**game.game(), &game.record().events).ok()?.view(Viewer::Public).value().get("lead")?.as_f64()
}
