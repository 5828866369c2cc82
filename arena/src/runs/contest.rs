//! Contest that a run plays: a suite or a tournament.

use std::collections::HashMap;
use std::path::Path;

use ludex_agents::AgentSpec;
use ludex_play::agents_file::{AgentSource, Agents, NamedAgent};
use ludex_play::runs::driver::{RunBudget, RunNews, StopReason};
use ludex_play::runs::evaluation::{Candidates, Evaluation, EvaluationRequest};
use ludex_play::runs::executor::Executor;
use ludex_play::runs::folder::RunStatus;
use ludex_play::runs::tournament::{Contest as Cup, ReadyTournament, TournamentRequest};
use ludex_protocol::record::Record;
use ludex_referee::schedule::Deals;
use ludex_referee::suite::Suite;
use serde_json::{Value, json};

use super::enrolment::{EnrolledAgent, Enrolment};

/// Client that plays for a player of the plan.
#[derive(Clone, Debug, Default)]
pub(super) struct RemotePlayer {
    pub(super) ticket: String,
    /// Variant of the agent that plays.
    pub(super) variant: Option<String>,
    /// Maximum number of concurrent matches.
    pub(super) slots: usize,
}

/// Contest of a run, ready to be played.
pub(super) enum RunContest {
    Suite(Box<Evaluation>),
    Tournament(Box<ReadyTournament>),
}

impl RunContest {
    /// Creates the contest of an enrolment with seeds from `secret`.
    ///
    /// # Errors
    ///
    /// A suite, game or agent that this version cannot play.
    pub(super) fn new(kept: &Enrolment, data: &Path, secret: [u8; 32]) -> anyhow::Result<Self> {
        let slots = kept.entrants.iter().map(|e| e.slots as usize).sum::<usize>().max(1);
        let secret = Some(hex::encode(secret));
        if let Some(cup) = &kept.cup {
            let named = |(name, spec): &(String, String)| {
                Ok(NamedAgent {
                    name: name.clone(),
                    source: AgentSource::Spec(AgentSpec::parse(spec)?),
                    price_in: None,
                    price_out: None,
                    note: None,
                    measured: None,
                })
            };
            let entries = cup.agents.iter().map(named).collect::<anyhow::Result<_>>()?;
            let ready = Cup::new(TournamentRequest {
                data: data.to_owned(),
                run: kept.run().to_owned(),
                game: cup.game.clone(),
                agents: Agents { path: data.to_owned(), entries },
                format: cup.format,
                blocks: cup.blocks,
                seed: 0,
                strikes: cup.strikes,
                move_seconds: Some(cup.move_s),
                jobs: Some(slots),
                secret,
                deals: Deals::Once,
                left_out: cup.left_out.clone(),
            })?;
            return Ok(RunContest::Tournament(Box::new(ready.ready(None, || {})?)));
        }
        let only = match kept.left_out.is_empty() {
            true => kept.request.only.clone(),
            false => {
                let suite = Suite::parse(&kept.text, &ludex_games::builtin())?;
                suite.parts.into_iter().map(|part| part.id).filter(|id| kept.plays(id)).collect()
            }
        };
        let evaluation = Evaluation::new(EvaluationRequest {
            candidates: Candidates::remote(kept.entrants.iter().map(|e| e.agent.clone())),
            suite: kept.text.clone(),
            data: data.to_owned(),
            scale: kept.request.scale,
            only,
            left_out: kept.left_out.clone(),
            variants: Some(kept.request.variants.clone()),
            roles: kept.roles.clone(),
            secret,
            deals: Some(Deals::Once),
            shard: None,
            unrated: !kept.request.rated,
            jobs: Some(slots),
        })?;
        Ok(RunContest::Suite(Box::new(evaluation)))
    }

    /// Returns the client of each player that is a candidate or a variant of one, by the player's name in the plan.
    pub(super) fn clients(&self, entrants: &[EnrolledAgent]) -> HashMap<String, RemotePlayer> {
        let whole = |e: &EnrolledAgent| {
            let client = RemotePlayer { ticket: e.ticket.clone(), variant: None, slots: e.slots as usize };
            (e.agent.clone(), client)
        };
        let mut clients: HashMap<String, RemotePlayer> = entrants.iter().map(whole).collect();
        let RunContest::Suite(evaluation) = self else { return clients };
        let agents = &evaluation.plan.agents;
        for agent in agents {
            if let Some(of) = &agent.variant
                && let Some(whole) = clients.get(&agents[of.candidate].name)
            {
                let client = RemotePlayer { variant: Some(of.name.clone()), ..whole.clone() };
                clients.insert(agent.name.clone(), client);
            }
        }
        clients
    }

    /// Returns the number of due matches, where known, and the number of finished matches.
    ///
    /// # Errors
    ///
    /// A run that cannot be read.
    pub(super) fn standing(&self, run: &str) -> anyhow::Result<(usize, usize)> {
        match self {
            RunContest::Suite(evaluation) => evaluation.standing(run),
            RunContest::Tournament(ready) => ready.standing(),
        }
    }

    /// Plays the due matches. Calls `told` with each stored match, and with the number of due matches whenever that
    /// number changes. Returns the reason for stopping and, if the run may be over, the verdict so far.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or written.
    pub(super) fn play(
        &self,
        executor: &dyn Executor,
        run: &str,
        mut told: impl FnMut(Option<&Record>, Option<usize>),
    ) -> anyhow::Result<(StopReason, Value)> {
        match self {
            RunContest::Suite(evaluation) => {
                let news = |news: RunNews| match news {
                    RunNews::Due(due) => told(None, Some(due.values().sum())),
                    RunNews::Match { record, .. } => told(Some(record), None),
                };
                let played = evaluation.play(executor, run, RunBudget::default(), None, news)?;
                let findings = played.findings(&evaluation.plan)?;
                let mut verdict = json!({ "parts": findings.rows, "groups": findings.groups });
                if !findings.summaries.is_empty() {
                    verdict["summaries"] = json!(findings.summaries);
                }
                Ok((played.end, verdict))
            }
            RunContest::Tournament(ready) => {
                let played = ready.play(executor, |_, record| told(record, None))?;
                Ok((played.end.clone(), ready.table(&played.records)))
            }
        }
    }

    /// Returns the current table of a tournament. Returns `None` for a suite, or before the first match.
    pub(super) fn table(&self, path: &Path) -> Option<Value> {
        let RunContest::Tournament(ready) = self else { return None };
        Some(ready.table(&RunStatus::at(path).ok()?.past.records))
    }
}
