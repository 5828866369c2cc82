//! Laws of moves that are documents, checked with every game of the list that accepts documents.

use futures_util::FutureExt as _;
use ludex_protocol::error::Issue;
use ludex_protocol::message::{Act, Batch, ClientMessage, Restore, Scope, SnapshotEnvs, StepEnvs, ViewEnv, Viewed};
use ludex_protocol::spec::Spec;
use ludex_protocol::{ErrorCode, Move};
use serde_json::{Map, Value, json};

use super::gym::handle::{CheckedHandle, plain};
use super::incoming::IncomingMessage;
use super::link::Link;
use super::matches::table::CheckedSeat;
use super::matches::terms::join;
use super::{Law, LawFailure, LawResult, law, law_holds, same, wrong};

pub(super) const LAWS: &[Law] = &[
    law(4, "accepts documents in environments", Some(Scope::Gym), |b| b.each(in_environments).boxed_local()),
    law(5, "accepts documents in matches", Some(Scope::Play), |b| {
        let law = async |_: &mut Link, spec: &Spec| in_matches(b, spec).await;
        async move { b.each(law).await }.boxed_local()
    }),
];

/// Seed of the checked episodes.
const SEED: u64 = 20_261_122;
/// Maximum number of turns checked per episode.
const TURNS: usize = 12;

fn speaks(spec: &Spec) -> LawResult {
    let some = spec.document_schemas.as_ref().is_some_and(|all| !all.is_empty());
    if some { Ok(()) } else { Err(LawFailure::Skip("no listed game accepts documents".into())) }
}

/// Returns a document that is invalid in every game.
fn nonsense() -> Value {
    json!({ "conformance": { "is": ["no", "move"] } })
}

/// Returns the smallest document that the basic keywords of a schema allow, if any.
fn smallest(schema: &Value) -> Option<Value> {
    if let Some(value) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
        return Some(value.clone());
    }
    let several = ["oneOf", "anyOf"].iter().find_map(|word| schema.get(word)?.get(0));
    let kind = schema.get("type").or_else(|| several?.get("type"));
    let kind = kind.and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    let number = |word: &str| schema.get(word).and_then(Value::as_u64).unwrap_or(0) as usize;
    Some(match (kind, several) {
        (Some("object"), _) => {
            let required = [Some(schema), several].into_iter().flatten().filter_map(|s| s.get("required")?.as_array());
            let fields = required.flatten().filter_map(Value::as_str);
            let value = |name: &str| Some((name.to_owned(), smallest(schema.get("properties")?.get(name)?)?));
            fields.map(value).collect::<Option<Map<_, _>>>()?.into()
        }
        (Some("array"), _) => {
            let item = |_| smallest(schema.get("items")?);
            (0..number("minItems")).map(item).collect::<Option<Vec<_>>>()?.into()
        }
        (Some("string"), _) => "a".repeat(number("minLength")).into(),
        (Some("integer" | "number"), _) => schema.get("minimum").cloned().unwrap_or_else(|| 0.into()),
        (Some("boolean"), _) => false.into(),
        (Some("null"), _) => Value::Null,
        (_, Some(first)) => smallest(first)?,
        _ => return None,
    })
}

/// Checks that issues have JSON pointers in order and messages.
fn explained(issues: &[Issue]) -> LawResult {
    let paths: Vec<&str> = issues.iter().map(|issue| issue.path.as_str()).collect();
    let pointers = paths.iter().all(|path| path.is_empty() || path.starts_with('/'));
    let good = !issues.is_empty() && issues.len() <= 64 && paths.is_sorted() && pointers;
    law_holds(good, || format!("sent issues with the paths {paths:?}"), "1 to 64 JSON pointers in ascending order")?;
    law_holds(issues.iter().all(|issue| !issue.message.is_empty()), || "sent one without `message`".into(), "a message")
}

/// Returns the schema that a turn names by `key`.
fn schema_of<'a>(spec: &'a Spec, key: &str, phase: Option<&str>) -> LawResult<&'a Value> {
    let stem = key.split('/').next();
    same(&stem, &phase, || format!("phase of the turn, compared with its schema {key:?}"))?;
    let found = spec.document_schemas.as_ref().and_then(|all| all.get(key));
    found.ok_or_else(|| wrong(format!("the turn names the schema {key:?}"), "a key of spec.document_schemas"))
}

// ---- environments ---------------------------------------------------------------------------------------------------

/// Environment of a game that accepts documents.
struct Room<'a> {
    link: &'a mut Link,
    h: CheckedHandle,
}

impl Room<'_> {
    async fn schema(&mut self, seat: usize) -> LawResult<Viewed> {
        let view = ViewEnv { env: self.h.env, seat: Some(seat as u32), ..ViewEnv::default() };
        Ok(*self.link.call(ClientMessage::View(view)).await?.viewed()?)
    }

    /// Plays a step with one seat's move as a document and the other moves as ids.
    async fn say(&mut self, ids: &[i32], column: usize, said: Value) -> LawResult<IncomingMessage> {
        let id = |id: &i32| if *id < 0 { None } else { Some(Move::Id((*id).into())) };
        let mut moves: Vec<Option<Move>> = ids.iter().map(id).collect();
        moves[column] = Some(Move::Document(said));
        let step = StepEnvs { env: self.h.env, moves: Some(moves), ..StepEnvs::default() };
        self.link.call(ClientMessage::Step(step)).await
    }

    /// Plays a turn that accepts documents. An invalid document must be refused with issues and leave the state
    /// unchanged. A schema-conforming document must be refused in the same way or be played. After that, a snapshot
    /// must restore the state at which it was taken.
    async fn turn(&mut self, batch: &Batch, ids: &[i32]) -> LawResult<bool> {
        let mut spoken = false;
        for (seat, _) in self.h.acting(batch, 0) {
            let column = if ids.len() == 1 { 0 } else { seat };
            let viewed = self.schema(seat).await?;
            let Some(key) = viewed.schema else { continue };
            let smallest = smallest(schema_of(&self.h.spec, &key, viewed.phase.as_deref())?);
            let before = self.h.look(self.link).await?;
            let error = self.say(ids, column, nonsense()).await?.error(ErrorCode::IllegalAction)?;
            explained(&error.issues)?;
            let after = self.h.look(self.link).await?;
            same(&self.h.rows(&after), &self.h.rows(&before), || "the state after a document was refused".into())?;
            spoken = true;
            let Some(document) = smallest else { continue };
            let kept = self.snapshot().await?;
            let answer = self.say(ids, column, document).await?;
            if answer.raw["type"] == "error" {
                let codes = [ErrorCode::IllegalAction, ErrorCode::Unparsed];
                explained(&answer.expect_error(&codes)?.issues)?;
                continue;
            }
            self.h.batch(answer, None)?;
            let said = self.snapshot().await?;
            let played = self.h.look(self.link).await?;
            self.restore(kept).await?;
            let restored = self.h.look(self.link).await?;
            same(&self.h.rows(&restored), &self.h.rows(&before), || "the state restored from a snapshot".into())?;
            self.restore(said).await?;
            let again = self.h.look(self.link).await?;
            same(&self.h.rows(&again), &self.h.rows(&played), || {
                "the state restored from a snapshot after a document".into()
            })?;
            return Ok(true);
        }
        if !spoken {
            self.h.step(self.link, ids).await?;
        }
        Ok(spoken)
    }

    async fn snapshot(&mut self) -> LawResult<Vec<ludex_protocol::Bytes>> {
        let request = SnapshotEnvs { env: self.h.env, ..SnapshotEnvs::default() };
        Ok(self.link.call(ClientMessage::Snapshot(request)).await?.snapshots()?.items)
    }

    async fn restore(&mut self, items: Vec<ludex_protocol::Bytes>) -> LawResult {
        let request = Restore { env: self.h.env, items, ..Restore::default() };
        let heard = self.link.call(ClientMessage::Restore(request)).await?;
        self.h.batch(heard, None).map(drop)
    }
}

async fn in_environments(link: &mut Link, spec: &Spec) -> LawResult {
    speaks(spec)?;
    let h = CheckedHandle::open(link, plain(spec, 1)).await?;
    let mut room = Room { link, h };
    room.h.reset(room.link, SEED).await?;
    let mut tried = false;
    for _ in 0..TURNS {
        let batch = room.h.look(room.link).await?;
        let Some(ids) = room.h.choose(&batch, SEED) else { break };
        if batch.terminated.get(0) == Some(1) {
            break;
        }
        if room.turn(&batch, &ids).await? {
            tried = true;
            // The episode continues with ids, since later turns may have other schemas.
            let batch = room.h.look(room.link).await?;
            if let Some(ids) = room.h.choose(&batch, SEED) {
                room.h.step(room.link, &ids).await?;
            }
        }
    }
    law_holds(
        tried,
        || format!("requested no document in {TURNS} turns"),
        "a turn with `schema`, as the spec has `document_schemas`",
    )?;
    let Room { link, h } = room;
    h.close(link).await
}

// ---- matches --------------------------------------------------------------------------------------------------------

/// Sends a document that is refused with issues, a text that is refused as unparsed, then an id. The two refusals must
/// use up as many tries as the protocol page specifies.
async fn in_matches(b: &super::bench::LawContext, spec: &Spec) -> LawResult {
    speaks(spec)?;
    let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
    let mut tried = false;
    while let Some(turn) = table.turn().await? {
        let Some(key) = turn.schema.clone().filter(|_| !tried) else {
            table.play_turn(&turn).await?;
            continue;
        };
        tried = true;
        let smallest = smallest(schema_of(spec, &key, turn.phase.as_deref())?);
        let act = |attempt| Act { match_id: table.id.clone(), turn: turn.turn, attempt, ..Act::default() };
        let [flawed, words, last] = [
            Act { document: Some(nonsense()), ..act(0) },
            Act { text: Some("no move at all".into()), ..act(1) },
            Act { document: smallest.clone(), ..act(2) },
        ];
        let refused = table.act(&flawed).await?.refusal()?;
        same(&refused.code, &ErrorCode::IllegalAction, || "refused.code of a flawed document".into())?;
        explained(refused.issues.as_deref().unwrap_or_default())?;
        same(&table.act(&flawed).await?.refusal()?, &refused, || "the reply to a repeated document".into())?;
        let answer = table.act(&words).await?;
        if answer.raw["type"] == "accepted" {
            // In some games, every text is a legal move.
            table.note_document(turn.turn);
            continue;
        }
        let refused = answer.refusal()?;
        let codes = [ErrorCode::Unparsed, ErrorCode::IllegalAction];
        law_holds(codes.contains(&refused.code), || format!("refused a text with {}", refused.code), "`unparsed`")?;
        same(&refused.tries_left, &1, || "refused.tries_left".into())?;
        if smallest.is_none() {
            let turn = ludex_protocol::message::TurnFrame { attempt: 2, ..turn };
            table.play_turn(&turn).await?;
            continue;
        }
        let answer = table.act(&last).await?;
        if answer.raw["type"] == "refused" {
            explained(answer.refusal()?.issues.as_deref().unwrap_or_default())?;
            // The third refusal forfeits the match.
            break;
        } else {
            let accepted = answer.accepted()?;
            same(&(&accepted.match_id, accepted.turn), &(&table.id, turn.turn), || {
                "match and turn of `accepted`".into()
            })?;
            table.note_document(turn.turn);
        }
    }
    table.ending().await?;
    law_holds(tried, || "requested no document".into(), "a turn with `schema`, since the spec has `document_schemas`")
}
