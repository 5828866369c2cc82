//! What a run will take, before anything is played: the same plan, small, with stand-ins of this program in the candidate's
//! place, which cost nothing; then multiplied.
//!
//! A stand-in sees the questions that the candidate would see, so that a language model's prompts are rendered and measured
//! as they would be sent. How long its answers are and how long they take is known once `ludex agents check` has asked it;
//! until then it is a guess by the prompting strategy, and said to be one.

use serde::Serialize;

/// An estimate.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {}

impl Estimate {
    pub fn show(&self, _out: &mut impl std::io::Write) -> std::io::Result<()> {
        Ok(())
    }
}

pub fn of(
    _plan: &ludex_referee::suite::plan::Plan,
    _text: &str,
    _scale: f64,
    _like: Option<&str>,
    _jobs: usize,
) -> anyhow::Result<Estimate> {
    anyhow::bail!("not yet")
}
