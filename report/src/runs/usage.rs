//! Cost of language model calls.

use ludex_protocol::call::Call;
use serde::Serialize;

/// Total cost of a set of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    pub calls: u64,
    pub tokens_in: u64,
    /// Input tokens served from the endpoint's cache. A call for which this number is not reported counts as 0.
    pub cached_tokens: u64,
    pub tokens_out: u64,
    /// Output tokens used for reasoning. A call for which this number is not reported counts as 0.
    pub reasoning_tokens: u64,
    /// US dollars of the calls with a known price.
    pub usd: f64,
    /// Number of calls without a known price.
    pub unpriced: u64,
    /// Seconds spent waiting for the endpoint, summed over all calls.
    pub seconds: f64,
}

impl Usage {
    pub fn add(&mut self, call: &Call) {
        self.calls += 1;
        self.tokens_in += call.tokens.input;
        self.tokens_out += call.tokens.out;
        self.cached_tokens += call.cached_tokens.unwrap_or(0);
        self.reasoning_tokens += call.reasoning_tokens.unwrap_or(0);
        match call.usd {
            // Costs are added in billionths of a dollar, so that rounding does not depend on the order of the calls.
            Some(usd) => self.usd = ((self.usd * 1e9).round() + (usd * 1e9).round()) / 1e9,
            None => self.unpriced += 1,
        }
        self.seconds += call.ms as f64 / 1e3;
    }

    /// Returns the sum of input and output tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens_in + self.tokens_out
    }
}
