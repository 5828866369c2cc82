//! Checks before the first match: language model arguments in a suite, and the suite's own opponents.

use anyhow::{Context as _, bail};
use ludex_agents::{AgentSpec, llm};
use ludex_protocol::Refusal;
use ludex_referee::suite::plan::Plan;

/// Checks the language model arguments of a suite, its parts and its variants, even if no model plays. Each argument
/// is checked alone. Conflicts with arguments of an agent's own spec are found later, when the agent is built.
///
/// # Errors
/// Returns an error for an unknown argument or an invalid value; the message names the suite, part or variant.
pub(super) fn arguments(plan: &Plan) -> anyhow::Result<()> {
    let suite = &plan.suite;
    let mut places = vec![("llm of the suite".to_owned(), &suite.llm)];
    places.extend(suite.variants.iter().map(|of| (format!("llm of variant {:?}", of.name), &of.llm)));
    places.extend(suite.paraphrases.iter().map(|of| (format!("llm of paraphrase {:?}", of.name), &of.llm)));
    for part in &suite.parts {
        places.push((format!("llm of part {:?}", part.id), &part.llm));
        let place = |name: &str| format!("llm of variant {name:?} in part {:?}", part.id);
        places.extend(part.variants.iter().map(|of| (place(&of.name), &of.llm)));
    }
    for (place, table) in places {
        for (name, value) in table {
            argument(name, &text(value)).map_err(|why| anyhow::anyhow!("{place}: {}", why.message))?;
        }
    }
    Ok(())
}

/// Returns the value of a suite's argument in the notation of agent specs.
pub(super) fn text(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Checks that at least one language model API accepts an argument.
fn argument(name: &str, value: &str) -> Result<(), Refusal> {
    let with = |api: &str| -> Result<(), Refusal> {
        let spec = AgentSpec::parse(&format!("llm model=none api={api}"))?.set(name, value)?;
        match llm::calls_per_move(&spec) {
            // Arguments that are missing here may come from the agent's own spec.
            Err(why) if why.path.as_deref().is_some_and(|path| path != name) => Ok(()),
            told => told.map(|_| ()),
        }
    };
    with("openai").or_else(|why| with("anthropic").map_err(|_| why))
}

/// Checks that the opponents of a suite (built-in agents and anchor levels) exist, without starting an agent. A spec
/// that starts with `@` is a placeholder for an unknown agent and is skipped.
///
/// # Errors
/// Returns an error if an opponent does not exist; the message names the part.
fn opponents(plan: &Plan) -> anyhow::Result<()> {
    for part in &plan.parts {
        for who in part.pairings().into_iter().flat_map(|(pairing, _)| pairing) {
            let entrant = &plan.agents[who];
            if entrant.candidate || entrant.spec.starts_with('@') {
                continue;
            }
            let place = || format!("{} in part {}", entrant.name, part.part.id);
            let spec = AgentSpec::parse(&entrant.spec).with_context(place)?;
            part.games.iter().try_for_each(|game| spec.resolve(game).map(|_| ())).with_context(place)?;
        }
    }
    Ok(())
}

/// Checks the agents of a suite without starting any of them.
///
/// # Errors
/// Returns an error if no language model accepts an argument, or if an opponent does not exist.
pub fn check(plan: &Plan) -> anyhow::Result<()> {
    arguments(plan)?;
    opponents(plan)
}

/// Checks that at least one part can be played.
///
/// # Errors
/// Returns an error if every part needs more candidates than the plan has.
pub(super) fn something_is_played(plan: &Plan) -> anyhow::Result<()> {
    let short = shortages(plan);
    match short.first() {
        Some(first) if short.len() == plan.parts.len() => {
            let more = if short.len() > 1 { ", as in the other parts" } else { "" };
            bail!("{}: expected enough candidates for at least one part; {first}{more}", plan.suite.name)
        }
        _ => Ok(()),
    }
}

/// Returns one sentence for each part that cannot be played, with the reason.
pub fn shortages(plan: &Plan) -> Vec<String> {
    plan.parts.iter().filter_map(|part| Some(format!("{}: {}", part.part.id, part.short_of()?))).collect()
}

/// Returns one sentence for each candidate that also fills a role, unless the suite plays candidates against themselves.
pub fn candidates_in_roles(plan: &Plan) -> Vec<String> {
    if plan.suite.parts.iter().any(|part| part.itself) {
        return Vec::new();
    }
    let candidates = || plan.agents.iter().filter(|agent| agent.candidate && agent.variant.is_none());
    let mut out = Vec::new();
    for (role, agents) in plan.suite.assigned_roles() {
        let own = candidates().filter(|candidate| agents.iter().any(|agent| agent.spec == candidate.spec));
        out.extend(own.map(|own| {
            format!(
                "{} is a candidate and fills the role {role:?}: its score against itself does not tell its strength",
                own.name
            )
        }));
    }
    out
}
