//! Laws of records: seeds stay secret until the end of a match, and records verify after it.

use std::time::Duration;

use ludex_protocol::message::MatchEnd;
use ludex_protocol::record::{RecordEvent, RecordParts};
use ludex_referee::digest::{digest, seed_commit};
use ludex_referee::read::Source;
use ludex_referee::{Verifier, verify};
use serde_json::Value;

use super::super::bench::LawContext;
use super::super::{LawFailure, LawResult, law_holds, same, short, wrong};
use super::table::CheckedSeat;
use super::terms::{games, join};

/// Record fields that are released after the last match with the same seed.
const RELEASED: [&str; 5] = ["seed", "salt", "digest", "run", "pair"];

/// Maps whose content belongs to the game, where these names have other meanings: a poker hand may have a `pair`.
const OF_THE_GAME: [&str; 3] = ["params", "view", "data"];

/// Finds a field with one of these names in a message and returns the name.
fn field<'a>(message: &Value, names: &[&'a str]) -> Option<&'a str> {
    match message {
        Value::Object(map) => {
            let here = names.iter().find(|&&name| map.get(name).is_some_and(|value| !value.is_null()));
            let inner = map.iter().filter(|(name, _)| !OF_THE_GAME.contains(&name.as_str()));
            here.copied().or_else(|| inner.into_iter().find_map(|(_, inner)| field(inner, names)))
        }
        Value::Array(list) => list.iter().find_map(|inner| field(inner, names)),
        _ => None,
    }
}

/// Returns true if a message contains a word as a text or a number.
fn says(message: &Value, word: &str) -> bool {
    match message {
        Value::Object(map) => map.values().any(|inner| says(inner, word)),
        Value::Array(list) => list.iter().any(|inner| says(inner, word)),
        Value::String(text) => text.contains(word),
        Value::Number(number) => number.to_string() == word,
        _ => false,
    }
}

/// Fetches a record over HTTP and returns it parsed and as text.
async fn page(b: &LawContext, path: &str) -> LawResult<(Value, String)> {
    let (status, body) = b.page(path).await?;
    law_holds(status == 200, || format!("GET {path}: {status} {}", short(&body)), "status 200 and the record")?;
    let record = serde_json::from_str(&body).map_err(|e| wrong(format!("GET {path}: not JSON: {e}"), "the record"))?;
    Ok((record, body))
}

/// Waits for the released record; the server may store an unrated match a moment after its end.
async fn wait(b: &LawContext, end: &MatchEnd) -> LawResult<(Value, String)> {
    let by = tokio::time::Instant::now() + b.patience;
    loop {
        let late = match page(b, &end.record).await {
            Ok((record, body)) if record["digest"].is_string() => return Ok((record, body)),
            Ok(_) => {
                wrong(format!("GET {}: the record has no digest after the match", end.record), "the released record")
            }
            Err(skip @ LawFailure::Skip(_)) => return Err(skip),
            Err(late) => late,
        };
        if tokio::time::Instant::now() >= by {
            return Err(late);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub(super) async fn secrets(b: &LawContext) -> LawResult {
    for spec in games(b).await? {
        let kept = async {
            let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
            if let Some(turn) = table.turn().await? {
                // Over HTTP, the page of a running match shows its events only.
                match page(b, &format!("/episodes/{}", table.id)).await {
                    Ok((early, _)) => {
                        let leak = field(&early, &RELEASED);
                        law_holds(
                            leak.is_none(),
                            || format!("the page of a running match has `{}`", leak.unwrap_or_default()),
                            "this field only after the match",
                        )?;
                    }
                    Err(LawFailure::Skip(_)) => {}
                    Err(stop) => return Err(stop),
                }
                table.play_turn(&turn).await?;
            }
            let end = table.play().await?;
            let early = || table.told.iter();
            if let Some((frame, name)) = early().find_map(|frame| Some((frame, field(frame, &RELEASED)?))) {
                return Err(wrong(format!("sent `{name}` in {}", short(&frame.to_string())), "it only in `match_end`"));
            }
            for (what, secret) in [("seed", &end.seed), ("salt", &end.salt), ("digest", &end.digest)] {
                let Some(secret) = secret.as_ref().filter(|secret| secret.len() > 8) else { continue };
                let leak = early().find(|frame| says(frame, secret));
                law_holds(
                    leak.is_none(),
                    || format!("sent the {what} in {}", short(&leak.map(Value::to_string))),
                    "this value only in `match_end`",
                )?;
            }
            Ok(())
        };
        kept.await.map_err(|stop| stop.of(&spec.string))?;
    }
    Ok(())
}

/// Checks that the commitment of the match is the hash of its salt and seed.
fn committed(commit: Option<&str>, seed: Option<&str>, salt: Option<&str>) -> LawResult {
    let (Some(commit), Some(seed), Some(salt)) = (commit, seed, salt) else {
        return Err(wrong(
            format!("the commitment is {commit:?}, the seed {seed:?}, the salt {salt:?}"),
            "all three values",
        ));
    };
    let mut bytes = [0; 16];
    let salted = hex::decode_to_slice(salt, &mut bytes).is_ok();
    law_holds(salted, || format!("the salt is {salt:?}"), "16 bytes in hex")?;
    let number = seed.parse().map_err(|_| wrong(format!("the seed is {seed:?}"), "a decimal number below 2^64"))?;
    same(&seed_commit(&bytes, number).as_str(), &commit, || format!("SHA-256 over salt {salt} and seed {seed}"))
}

pub(super) async fn released(b: &LawContext) -> LawResult {
    for spec in games(b).await? {
        let kept = async {
            let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
            let end = table.play().await?;
            let (commit, seed, salt) = (table.start.seed_commit.as_deref(), end.seed.as_deref(), end.salt.as_deref());
            if seed.is_some() {
                committed(commit, seed, salt)?;
            }
            let (record, body) = wait(b, &end).await?;
            committed(commit, record["seed"].as_str(), record["salt"].as_str())?;
            let beside = |name: &str| format!("`{name}` of the record, compared with the match");
            same(&record["episode"].as_str(), &Some(&*table.id), || beside("episode"))?;
            same(&record["seed_commit"].as_str(), &commit, || beside("seed_commit"))?;
            let ended = serde_json::to_value(&end).unwrap_or_default();
            for name in ["returns", "outcome", "reason", "seed", "salt", "digest"] {
                law_holds(
                    ended[name].is_null() || record[name] == ended[name],
                    || format!("{}: {}", beside(name), record[name]),
                    &ended[name].to_string(),
                )?;
            }
            let parts = RecordParts::parse(&body)
                .map_err(|e| wrong(format!("an invalid record: {e}"), "a record as in section 10"))?;
            let made = digest(&parts).map_err(|e| wrong(e.to_string(), "canonical JSON"))?;
            same(&record["digest"].as_str(), &Some(&*made), || {
                "digest of the record, compared with its hash chain".into()
            })?;
            let typed = parts
                .clone()
                .record()
                .map_err(|e| wrong(format!("an invalid record: {e}"), "a record as in section 10"))?;
            let moves = typed.events.iter().filter_map(|event| match event {
                RecordEvent::Move(played) => Some((played.seat, played.action)),
                RecordEvent::Chance(_) => None,
            });
            let seen: Vec<_> = table.moves.iter().filter(|(seat, _)| *seat == 0).copied().collect();
            same(&moves.filter(|(seat, _)| *seat == 0).collect::<Vec<_>>(), &seen, || beside("events"))?;
            again(&parts)
        };
        kept.await.map_err(|stop| stop.of(&spec.string))?;
    }
    Ok(())
}

/// Verifies the record by playing it again, if the game is built into this program.
fn again(parts: &RecordParts) -> LawResult {
    match Verifier::new(ludex_games::builtin()).verify(parts, Source::default()) {
        Ok(_) => Ok(()),
        Err(fault) if matches!(fault.kind, verify::FaultKind::Game | verify::FaultKind::Rules) => Ok(()),
        Err(fault) => {
            Err(wrong(format!("the record does not verify: {fault}"), "events and results that follow the rules"))
        }
    }
}
