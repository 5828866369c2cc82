//! Plan of a run, rebuilt from the run's settings and suite.

use std::collections::{BTreeMap, HashMap};

use anyhow::Context as _;
use ludex_agents::AgentSpec;
use ludex_env::GameRef;
use ludex_protocol::record::Record;
use ludex_referee::schedule::MatchSeeds;
use ludex_referee::suite::plan::{Plan, PlannedPart};
use ludex_referee::suite::starts::Excerpts;
use ludex_referee::suite::{MatchPolicy, Suite};
use ludex_report::runs::RunSchedule;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::plan_progress::PlanProgress;
use ludex_report::runs::results;
use ludex_report::runs::run_files::SUITE;
use ludex_report::runs::settings::{RunKind, RunSeeds};

use super::answer_cache::CachePolicy;
use super::settings;
use super::spec_in;
use super::tournament::schedule::{PART, TournamentSchedule, TournamentTerms};

/// Part of a rebuilt plan.
pub(crate) struct GroundPart {
    pub(crate) id: String,
    games: Vec<GameRef>,
    /// Number of matches per game in a block.
    seatings: usize,
    pub(crate) policy: MatchPolicy,
    pub(crate) seeds: MatchSeeds,
    pub(crate) excerpts: Excerpts,
    pub(crate) caching: CachePolicy,
}

impl GroundPart {
    /// Returns the game of the match at position `turn` in a block.
    pub(crate) fn game(&self, turn: usize) -> &GameRef {
        &self.games[turn / self.seatings.max(1) % self.games.len()]
    }
}

/// Plan of a run, rebuilt from the run's files.
pub(crate) struct RebuiltPlan {
    pub(crate) schedule: Box<dyn RunSchedule>,
    pub(crate) parts: Vec<GroundPart>,
    /// Specs of agents, by part and agent index.
    pub(crate) specs: HashMap<(usize, usize), AgentSpec>,
    /// Plan of an evaluation; `None` for a tournament.
    pub(crate) plan: Option<Plan>,
    suite: String,
}

impl RebuiltPlan {
    /// Rebuilds the plan from the settings and the suite of a run.
    ///
    /// # Errors
    /// Returns an error if this version cannot read the suite, an agent or a game.
    pub(crate) fn of(run: &Archive) -> anyhow::Result<RebuiltPlan> {
        let about = &run.about;
        let suite = run.files.get(SUITE).with_context(|| format!("expected the file {SUITE}, found none"))?;
        let suite = std::str::from_utf8(suite).with_context(|| format!("{SUITE}: expected UTF-8 text"))?.to_owned();
        if about.kind == RunKind::Tournament {
            let terms = TournamentTerms::parse(&suite)?;
            let game = ludex_games::load(&terms.game)?;
            let names: Vec<String> = about.agents.iter().map(|agent| agent.name.clone()).collect();
            let schedule = TournamentSchedule::new(&about.run, &terms, &names, game.spec().players as usize)?;
            let specs = about.agents.iter().enumerate();
            let specs = specs.filter_map(|(who, agent)| Some(((0, who), AgentSpec::parse(&agent.spec).ok()?)));
            let specs = specs.collect();
            // Meeting numbers are not needed, because every block of a tournament has a different number.
            let seeds = MatchSeeds::new(about.seeds_of(PART), about.deals, &game, BTreeMap::new());
            let parts = vec![GroundPart {
                id: PART.to_owned(),
                games: vec![game],
                seatings: 1,
                policy: terms.policy,
                seeds,
                excerpts: Excerpts::default(),
                caching: CachePolicy::default(),
            }];
            return Ok(RebuiltPlan { schedule: Box::new(schedule), parts, specs, plan: None, suite });
        }
        let plan = about.plan(&suite).with_context(|| format!("{SUITE} cannot be used"))?;
        let mut specs = HashMap::new();
        for (at, part) in plan.parts.iter().enumerate() {
            for who in part.pairings().into_iter().flat_map(|(pairing, _)| pairing) {
                specs.insert((at, who), spec_in(&plan, at, who)?);
            }
        }
        let part = |part: &PlannedPart| {
            let seeds = part.match_seeds(about.seeds_of(&part.part.id), about.deals);
            let caching = CachePolicy::new(&part.part.cache_answers, seeds.of(&[], 0, 0));
            GroundPart {
                caching,
                id: part.part.id.clone(),
                games: part.games.clone(),
                seatings: part.seatings().len(),
                policy: plan.suite.policy(&part.part).clone(),
                seeds,
                excerpts: part.excerpts.clone(),
            }
        };
        let parts = plan.parts.iter().map(part).collect();
        let schedule = Box::new(about.plan(&suite)?);
        Ok(RebuiltPlan { schedule, parts, specs, plan: Some(plan), suite })
    }

    /// Returns the ids of the parts.
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.id.as_str()).collect()
    }

    /// Compares the plan with `records`.
    pub(crate) fn walk(&self, run: &Archive, records: &[Record]) -> PlanProgress {
        let (done, _) = results(&run.about.run, &*self.schedule, records);
        PlanProgress::new(&*self.schedule, &self.ids(), &done, records)
    }

    /// Describes the settings that contradict the suite and the agents.
    pub(crate) fn contradictions(&self, run: &Archive) -> Vec<String> {
        let about = &run.about;
        let digest = Suite::digest(&self.suite);
        if about.suite.digest != digest {
            return vec![format!("digest of {SUITE}: expected {}, got {digest}", about.suite.digest)];
        }
        let Some(plan) = &self.plan else { return Vec::new() };
        let seeds = match &about.seeds {
            RunSeeds::Open(_) => RunSeeds::Open(plan.suite.seed),
            secret => secret.clone(),
        };
        // Programs may be missing on this machine, so the digests of programs are taken from the settings.
        let again = settings::of_plan(&about.run, plan, &self.suite, seeds, about.scale);
        let Ok(mut again) = again else { return vec!["agents: expected agents that can play their parts".to_owned()] };
        again.ludex.clone_from(&about.ludex);
        again.only.clone_from(&about.only);
        for (agent, was) in again.agents.iter_mut().zip(&about.agents) {
            agent.program.clone_from(&was.program);
        }
        if !about.calls_bound || about.ludex != crate::PROGRAM || about.wording != again.wording {
            again.prompts.clone_from(&about.prompts);
            again.wording = about.wording;
        }
        let differ = settings::differences(about, &again);
        differ.into_iter().map(|what| format!("the settings contradict {SUITE}: {what}")).collect()
    }
}
