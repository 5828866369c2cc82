//! Prompts for language models in the environments of a handle, and their answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_agents::llm::{ObservedState, Prompter, Reading, observe};
use ludex_env::{
    Action, AgentKey, DynBatch, GameRef, MoveRequest, ParsedMove, PriorAttempt, Scheduler as _, Seat, ToMove,
};
use ludex_protocol::call::ChatMessage;
use ludex_protocol::message::{Observer, OnIllegal, ReadAnswer, Verdict};
use ludex_protocol::spec::Params;
use ludex_protocol::{Batch, ErrorCode, Move, Refusal};
use serde_json::Value;

use crate::compute::{CurrentJob, internal};

use super::field;

/// Maximum number of refused answers of a turn that a prompt lists: the last ones.
const MAX_ATTEMPTS: usize = 16;

/// Estimated size of a prompt in bytes, for the limit on the size of a batch.
pub(super) const PROMPT_BYTES: u64 = 16 << 10;

/// Prompts of a handle, and the refused answers of the current turns.
#[derive(Clone)]
pub(super) struct EnvPrompts {
    game: GameRef,
    /// Prompts with the settings of `open`.
    prompter: Arc<Prompter>,
    /// True if batches contain the view `prompt`.
    pub(super) in_batches: bool,
    attempts: BTreeMap<(usize, Seat), Vec<PriorAttempt>>,
}

/// Move request to a language model: a position as its seat observed it.
struct Question {
    seat: Seat,
    observed: ObservedState,
    legal: Vec<Action>,
}

/// Key of requests for prompts and answers, which do not depend on it.
const KEY: [u8; 32] = [0; 32];

impl Question {
    fn request<'a>(&'a self, attempts: &'a [PriorAttempt]) -> MoveRequest<'a> {
        let ObservedState { state, past, turn } = &self.observed;
        MoveRequest::on_state(&**state, self.seat, *turn, &self.legal, AgentKey::Own(&KEY))
            .with_history(past)
            .with_attempts(attempts)
    }
}

/// Answer with its effect on the game.
enum Effect {
    Plays(Move),
    Refused(PriorAttempt),
}

impl EnvPrompts {
    /// Prepares prompts with these settings.
    ///
    /// # Errors
    /// `bad_field` with the path of the setting.
    pub(super) fn new(game: &GameRef, settings: &Params, in_batches: bool) -> Result<Self, Box<Refusal>> {
        let prompter = Arc::new(Prompter::from_settings(settings, game)?);
        Ok(EnvPrompts { game: game.clone(), prompter, in_batches, attempts: BTreeMap::new() })
    }

    /// Returns the prompts with other settings, and the same refused answers.
    pub(super) fn with_settings(&self, settings: &Params) -> Result<Self, Box<Refusal>> {
        let prompter = Arc::new(Prompter::from_settings(settings, &self.game)?);
        Ok(EnvPrompts { prompter, ..self.clone() })
    }

    /// Returns the approximate memory used by refused answers, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let one = |a: &PriorAttempt| {
            let json = serde_json::to_vec(&(&a.given, &a.issues)).map_or(0, |bytes| bytes.len());
            a.why.len() + json
        };
        self.attempts.values().flatten().map(one).sum()
    }

    /// Forgets the refused answers of environments that have moved.
    pub(super) fn forget(&mut self, moved: impl Fn(usize) -> bool) {
        self.attempts.retain(|(i, _), _| !moved(*i));
    }

    /// Returns the refused answers of `rows`, which become the environments of a copy.
    pub(super) fn fork(&self, rows: Option<&[u32]>) -> Self {
        let place = |i: usize| match rows {
            Some(rows) => rows.iter().position(|&row| row as usize == i),
            None => Some(i),
        };
        let kept = self.attempts.iter().filter_map(|((i, seat), all)| Some(((place(*i)?, *seat), all.clone())));
        EnvPrompts { attempts: kept.collect(), ..self.clone() }
    }

    /// Returns the prompt of a seat that is to move.
    ///
    /// # Errors
    /// `internal` if the prompt cannot be rendered.
    pub(super) fn prompt(&self, batch: &dyn DynBatch, i: usize, seat: Seat) -> Result<Vec<ChatMessage>, Box<Refusal>> {
        let question = self.question(batch, i, seat)?;
        self.prompter.messages(&question.request(self.attempts(i, seat))).map_err(|e| failed(&e.message))
    }

    /// Writes the view `prompt` of a batch. Once the prompts exceed `most` bytes, further ones are `null`.
    pub(super) fn write(&self, batch: &dyn DynBatch, out: &mut Batch, most: u64) -> Result<(), Box<Refusal>> {
        if !self.in_batches {
            return Ok(());
        }
        let all = batch.config().observer == Observer::All;
        let rows: Vec<usize> = match &out.envs {
            Some(envs) => envs.iter().map(|i| i as usize).collect(),
            None => (0..batch.count()).collect(),
        };
        let (mut prompts, mut bytes) = (Vec::new(), 0);
        for i in rows {
            let acting = batch.turn(i).seats();
            let seats = if all { 0..batch.spec().players as usize } else { batch.viewer(i)..batch.viewer(i) + 1 };
            for seat in seats {
                if !acting.has(seat) || bytes > most {
                    prompts.push(None);
                    continue;
                }
                CurrentJob.pause().map_err(|_| internal())?;
                let prompt = self.prompt(batch, i, seat)?;
                bytes += prompt.iter().map(|message| message.content.len() as u64).sum::<u64>();
                prompts.push(Some(prompt));
            }
        }
        out.prompt = Some(prompts);
        Ok(())
    }

    /// Reads answers of a seat that is to move, each as its next answer, without playing them.
    pub(super) fn read_all(
        &self,
        batch: &dyn DynBatch,
        i: usize,
        seat: Seat,
        answers: &[String],
    ) -> Result<Vec<ReadAnswer>, Box<Refusal>> {
        let question = self.question(batch, i, seat)?;
        answers.iter().map(|answer| Ok(self.read(&question, i, answer)?.0)).collect()
    }

    fn attempts(&self, i: usize, seat: Seat) -> &[PriorAttempt] {
        self.attempts.get(&(i, seat)).map_or(&[], Vec::as_slice)
    }

    /// Returns the position of an environment as `seat`, which is to move, observed it.
    fn question(&self, batch: &dyn DynBatch, i: usize, seat: Seat) -> Result<Question, Box<Refusal>> {
        let row = u32::try_from(i).unwrap_or(u32::MAX);
        let h = batch.snapshot(Some(&[row]), &[])?.pop().map(|item| item.h).unwrap_or_default();
        let observed = match batch.state(i).filter(|_| !self.prompter.needs_history()) {
            Some(state) => ObservedState { state, past: Vec::new(), turn: turns(&h, seat) },
            None => observe(&self.game, &h, Some(seat))?,
        };
        let legal = observed.state.legal_list(seat);
        Ok(Question { seat, observed, legal })
    }

    /// Reads an answer as the next one to a question.
    fn read(&self, question: &Question, i: usize, answer: &str) -> Result<(ReadAnswer, Effect), Box<Refusal>> {
        let seat = question.seat;
        let before = self.attempts(i, seat);
        let Reading { verdict, mv, text } = self.prompter.read(&question.request(before), answer);
        let parsed = question.observed.state.parse_move(seat, &mv);
        let verdict = match verdict {
            "ok" if parsed.is_ok() => Verdict::Ok,
            "ok" | "illegal" => Verdict::Illegal,
            "empty" => Verdict::Empty,
            _ => Verdict::Unparsed,
        };
        let refusal = match parsed {
            Ok(parsed) if verdict == Verdict::Ok => {
                let (action, document) = match parsed {
                    ParsedMove::Action(a) => (Some(a), None),
                    ParsedMove::Document(document) => (None, Some(document)),
                };
                return Ok((
                    ReadAnswer { verdict, action, document, text, ..ReadAnswer::default() },
                    Effect::Plays(mv),
                ));
            }
            // Games with free text accept any words, but an answer without a move is not the player's words.
            Ok(_) => Refusal::new(ErrorCode::Unparsed, "expected a move, got none"),
            Err(refusal) => refusal,
        };
        let attempt = PriorAttempt { given: Some(mv), why: refusal.message, issues: refusal.issues.clone() };
        let attempts = with(before, attempt.clone());
        let words = self.prompter.refusals(&question.request(&attempts)).map_err(|e| failed(&e.message))?;
        let issues = (!refusal.issues.is_empty()).then_some(refusal.issues);
        Ok((ReadAnswer { verdict, message: Some(words), issues, ..ReadAnswer::default() }, Effect::Refused(attempt)))
    }
}

/// Answers of a step as read, and the moves that they become.
pub(super) struct StepAnswers {
    pub(super) moves: Vec<Option<Move>>,
    pub(super) read: Vec<Option<ReadAnswer>>,
    refused: Vec<(usize, Seat, PriorAttempt)>,
}

impl StepAnswers {
    /// Reads the answers of a step. Each row with a refused answer gets no move or, if illegal moves lose, the move that
    /// the rules refuse.
    ///
    /// # Errors
    /// `bad_shape` for a wrong number of answers; `bad_field` for an answer at a chance node.
    pub(super) fn read(
        prompts: &EnvPrompts,
        batch: &dyn DynBatch,
        rows: &[u32],
        answers: &[Option<String>],
    ) -> Result<Self, Box<Refusal>> {
        let (width, loses) = (batch.width(), batch.config().on_illegal == OnIllegal::Lose);
        if answers.len() != rows.len() * width {
            let (n, wanted) = (rows.len(), rows.len() * width);
            let message =
                format!("expected {wanted} answers ({n} environments with {width} each), got {}", answers.len());
            let error = Refusal::new(ErrorCode::BadShape, message).path("answers");
            return Err(Box::new(error.got(answers.len()).allowed(wanted)));
        }
        let (mut moves, mut read) = (vec![None; answers.len()], vec![None; answers.len()]);
        let mut refused = Vec::new();
        for (at, answer) in answers.iter().enumerate() {
            let Some(answer) = answer else { continue };
            let i = rows[at / width] as usize;
            let turn = if i < batch.count() { batch.turn(i) } else { ToMove::Over };
            // The batch refuses or ignores a move in an episode that is over, and a seat that does not act.
            let seat = match turn {
                ToMove::Over => None,
                ToMove::Chance => {
                    let error = field("answers", "expected null at a chance node, got an answer");
                    return Err(Box::new(error.index(at)));
                }
                ToMove::Seat(_) | ToMove::Simultaneous(_) if width == 1 => Some(batch.viewer(i)),
                ToMove::Seat(_) | ToMove::Simultaneous(_) => Some(at % width),
            };
            let Some(seat) = seat.filter(|&seat| turn.seats().has(seat)) else {
                moves[at] = Some(Move::Id(0));
                continue;
            };
            CurrentJob.pause().map_err(|_| internal())?;
            let question = prompts.question(batch, i, seat)?;
            let (answer, effect) = prompts.read(&question, i, answer)?;
            read[at] = Some(answer);
            match effect {
                Effect::Plays(mv) => moves[at] = Some(mv),
                Effect::Refused(attempt) if loses => moves[at] = attempt.given,
                Effect::Refused(attempt) => refused.push((at, seat, attempt)),
            }
        }
        for (at, ..) in &refused {
            let row = at / width * width;
            moves[row..row + width].fill(None);
        }
        let refused = refused.into_iter().map(|(at, seat, attempt)| (rows[at / width] as usize, seat, attempt));
        Ok(StepAnswers { moves, read, refused: refused.collect() })
    }

    /// Adds the refused answers to the prompts of their turn, after the step.
    pub(super) fn keep(&mut self, prompts: &mut EnvPrompts) {
        for (i, seat, attempt) in self.refused.drain(..) {
            let all = with(prompts.attempts(i, seat), attempt);
            prompts.attempts.insert((i, seat), all);
        }
    }
}

/// Returns the attempts with one more, at most [`MAX_ATTEMPTS`].
fn with(before: &[PriorAttempt], attempt: PriorAttempt) -> Vec<PriorAttempt> {
    let excess = (before.len() + 1).saturating_sub(MAX_ATTEMPTS);
    before[excess..].iter().cloned().chain([attempt]).collect()
}

/// Returns the number of turns that `seat` had in a history.
fn turns(h: &[(i32, Value)], seat: Seat) -> u32 {
    let acted = |(who, what): &&(i32, Value)| match who {
        -2 => what.get(seat).is_some_and(|entry| entry.as_i64() != Some(-1)),
        who => *who == seat as i32,
    };
    h.iter().filter(acted).count() as u32
}

fn failed(why: &str) -> Box<Refusal> {
    tracing::error!(error = why, "prompt rendering failed");
    internal()
}

#[cfg(test)]
mod tests;
