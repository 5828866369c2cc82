//! What a suite says of agents, checked before anybody plays: arguments of language models, and the suite's own opponents.

use anyhow::{Context as _, bail};
use ludex_agents::{AgentSpec, llm};
use ludex_protocol::Refusal;
use ludex_referee::suite::plan::Plan;

/// Checks the arguments for language models of a suite, of its parts and of variants, even if no model plays. Each is looked at by itself:
/// an agent's own arguments may go with it or not, which is seen when it is built.
///
/// # Errors
/// An argument that language models do not have, or a value that it does not take, with the place.
pub(super) fn arguments(plan: &Plan) -> anyhow::Result<()> {
    let suite = &plan.suite;
    let mut places = vec![("llm of the suite".to_owned(), &suite.llm)];
    places.extend(suite.variants.iter().map(|of| (format!("llm of variant {:?}", of.name), &of.llm)));
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

/// An argument of a suite, as a spec has it.
pub(super) fn text(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether some language model takes an argument.
fn argument(name: &str, value: &str) -> Result<(), Refusal> {
    let with = |api: &str| -> Result<(), Refusal> {
        let spec = AgentSpec::parse(&format!("llm model=none api={api}"))?.set(name, value)?;
        match llm::calls_per_move(&spec) {
            // What is missing beside it, the agent's own spec may give.
            Err(why) if why.path.as_deref().is_some_and(|path| path != name) => Ok(()),
            told => told.map(|_| ()),
        }
    };
    with("openai").or_else(|why| with("anthropic").map_err(|_| why))
}

/// Checks that the opponents that a suite names exist: agents of the roster, and levels of the games' ladders. Nothing is started.
/// An agent whose spec begins with `@` stands for one that is not known yet.
///
/// # Errors
/// An opponent that does not exist, with its part.
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

/// Checks what a suite says of agents, without any of them.
///
/// # Errors
/// An argument for language models that they do not take, or an opponent that does not exist.
pub fn check(plan: &Plan) -> anyhow::Result<()> {
    arguments(plan)?;
    opponents(plan)
}

/// Checks that something is played.
///
/// # Errors
/// Every part needs more candidates than there are.
pub(super) fn something_is_played(plan: &Plan) -> anyhow::Result<()> {
    let short = shortages(plan);
    match short.first() {
        Some(first) if short.len() == plan.parts.len() => {
            let more = if short.len() > 1 { ", and so in the other parts" } else { "" };
            bail!("{} plays nothing here. {first}{more}", plan.suite.name)
        }
        _ => Ok(()),
    }
}

/// The parts in which nothing is played, and why, each in a sentence.
pub fn shortages(plan: &Plan) -> Vec<String> {
    plan.parts.iter().filter_map(|part| Some(format!("{}: {}", part.part.id, part.short_of()?))).collect()
}
