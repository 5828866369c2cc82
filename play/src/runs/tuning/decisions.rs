//! Decisions of a match: positions in which an agent chose its move.

use std::collections::BTreeSet;

use ludex_agents::llm::observe;
use ludex_env::recording::{Replay, ReplayStep, parsed_move};
use ludex_env::{Action, AgentKey, DynState, MoveRequest, ObservedMove, ParsedMove, Seat};
use ludex_protocol::record::{MoveRecord, RecordEvent};
use serde_json::{Value, json};

use super::TunedMatch;
use super::provenance::{RowMetadata, WRITTEN};
use super::rows::GrpoFacts;
use super::splits::Split;

/// Maximum number of legal moves that a row lists.
const MAX_LEGAL: usize = 1_000;

/// Key of move requests. The requested texts do not depend on it.
const KEY: [u8; 32] = [0; 32];

/// Decision of a seat, with the position before its move.
pub(super) struct TunedDecision<'s> {
    pub(super) seat: Seat,
    pub(super) record: &'s MoveRecord,
    /// Position before the move.
    pub(super) state: &'s dyn DynState,
    pub(super) legal: Vec<Action>,
    /// Earlier moves and outcomes, as in a snapshot.
    history: &'s [(i32, Value)],
    /// Earlier moves and outcomes as the seat observed them; empty if prompts do not list them.
    past: Vec<ObservedMove>,
    /// Number of moves in the match before this decision.
    ply: u32,
    /// Return of the seat in the match.
    points: f64,
}

impl TunedDecision<'_> {
    /// Returns the move request.
    pub(super) fn ask(&self) -> MoveRequest<'_> {
        MoveRequest::on_state(self.state, self.seat, self.record.turn, &self.legal, AgentKey::Own(&KEY))
            .with_history(&self.past)
    }

    /// Returns the played move.
    pub(super) fn played(&self) -> Option<ParsedMove> {
        parsed_move(self.record)
    }

    /// Returns the facts by which replies are scored. `names` are the texts of the legal moves in prompts.
    pub(super) fn facts(&self, names: Vec<String>) -> GrpoFacts {
        let fits = names.len() <= MAX_LEGAL;
        let at = self.record.action.and_then(|a| self.legal.binary_search(&a).ok());
        let document = self.record.document.as_ref().map(Value::to_string);
        GrpoFacts {
            seat: self.seat,
            history: Value::from_iter(self.history.iter().map(|(by, mv)| json!([by, mv]))).to_string(),
            reference_action: self.record.action,
            reference_move: at.and_then(|at| names.get(at).cloned()).or(document),
            reference_return: self.points,
            legal: fits.then(|| self.legal.clone()),
            names: fits.then_some(names),
        }
    }
}

impl TunedMatch<'_> {
    /// Calls `each` with each decision of these seats, in the order of play. Moves that the agent did not choose, and a
    /// seat's only legal move, are no decisions.
    pub(super) fn each_decision(
        &self,
        seats: &BTreeSet<Seat>,
        mut each: impl FnMut(&TunedDecision) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if seats.is_empty() {
            return Ok(());
        }
        let (game, record) = (self.game.game(), self.game.record());
        let (mut history, mut ply) = (Vec::new(), 0);
        let mut steps = Replay::new(&**game, &record.events);
        while let Some(step) = steps.next() {
            let step = step.map_err(|stop| anyhow::anyhow!("{}: {stop}", record.header.episode))?;
            let chosen = |at: usize, m: &MoveRecord| {
                step.played && !m.forced && at >= record.header.start as usize && seats.contains(&(m.seat as usize))
            };
            for (_, m) in step.moves().filter(|(at, m)| chosen(*at, m)) {
                let seat = m.seat as usize;
                let legal = step.before.legal_list(seat);
                if legal.len() < 2 && step.before.schema(seat).is_none() {
                    continue;
                }
                let past =
                    if self.prompter.needs_history() { observe(game, &history, Some(seat))?.past } else { Vec::new() };
                let points = record.footer.returns.get(seat).copied().unwrap_or_default();
                let state = step.before;
                each(&TunedDecision { seat, record: m, state, legal, history: &history, past, ply, points })?;
            }
            ply += u32::from(step.moves().next().is_some());
            history.extend(entry(&step, game.spec().players as usize));
        }
        Ok(())
    }

    /// Returns the provenance of a decision's row.
    pub(super) fn metadata(&self, decision: &TunedDecision, source: &'static str) -> RowMetadata {
        let (record, written) = (self.game.record(), source == WRITTEN);
        let (header, footer) = (&record.header, &record.footer);
        // Records without a seed are alone with their name.
        let seed = footer.seed.clone().unwrap_or_else(|| header.episode.clone());
        RowMetadata {
            run: self.run.about.run.clone(),
            episode: header.episode.clone(),
            digest: self.game.digest().to_owned(),
            decision: decision.record.turn,
            ply: decision.ply,
            seat: decision.seat,
            agent: header.seats.get(decision.seat).map(|seat| seat.name.clone()).unwrap_or_default(),
            game: self.game.spec().string.clone(),
            rules: header.rules,
            hash: header.hash.clone(),
            outcome: footer.outcome.get(decision.seat).copied(),
            r#return: decision.points,
            source,
            prompt: written.then(|| Value::Object(self.settings.prompt.clone()).to_string()),
            wording: if written { ludex_agents::llm::PROMPT_VERSION } else { self.run.about.wording },
            split: Split::of_seed(&seed, self.settings.validation),
            seed,
            pair: None,
        }
    }
}

/// Returns the entry of a step in a snapshot's history; `None` if the step changed nothing.
fn entry(step: &ReplayStep<'_>, players: usize) -> Option<(i32, Value)> {
    let value = |m: &MoveRecord| match (m.action, &m.document) {
        (Some(a), _) => Value::from(a),
        (None, document) => json!({ "document": document }),
    };
    match step.events {
        _ if !step.played => None,
        [RecordEvent::Chance(outcome)] => Some((-1, outcome.action.into())),
        [RecordEvent::Move(m)] if step.before.turn().seat().is_some() => Some((m.seat as i32, value(m))),
        _ => {
            let mut joint = vec![Value::from(-1); players];
            step.moves().for_each(|(_, m)| joint[m.seat as usize] = value(m));
            Some((-2, joint.into()))
        }
    }
}
