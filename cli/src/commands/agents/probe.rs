//! `ludex agents check` for a language model: five calls to the endpoint.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use ludex_agents::AgentSpec;
use ludex_agents::llm::{self, Probe};
use serde_json::{Value, json};

use crate::commands::print;
use ludex_play::agents_file::{self, MeasuredCalls};

/// Returns true if the endpoint replies with moves, either in JSON or, if it rejects JSON schemas, as text. If the
/// agent has a name, the measurements are written to its entry in the agents file.
pub(super) fn run(name: &str, spec: &AgentSpec, data: &Path, as_json: bool) -> anyhow::Result<bool> {
    if io::stderr().is_terminal() {
        eprintln!("calling {name} five times; failed calls are retried, which takes a while");
    }
    let probe = match llm::probe(spec) {
        Ok(probe) => probe,
        Err(why) if as_json => {
            print::json(&json!({ "agent": name, "passed": false, "why": why.message }))?;
            return Ok(false);
        }
        Err(why) => {
            writeln!(io::stdout().lock(), "FAILED  {name}: {why}")?;
            return Ok(false);
        }
    };
    let passed = probe.calls.iter().all(|call| call.ok || call.what == "schema");
    let measured = MeasuredCalls {
        tokens_in: probe.tokens_in,
        tokens_out: probe.tokens_out,
        seconds: probe.seconds,
        schema: probe.schema,
        at: ludex_play::time::now_text(),
    };
    let agents = agents_file::of_data(data)?;
    let is_named = passed && agents.find(name).is_some();
    if is_named {
        agents_file::keep_measured(&agents.path, name, &measured)?;
    }
    if as_json {
        print::json(&document(name, &probe, usd(spec, &probe), passed))?;
        return Ok(passed);
    }
    show(&mut io::stdout().lock(), name, &probe, usd(spec, &probe), passed)?;
    if is_named {
        writeln!(io::stdout().lock(), "measurements written to {}", agents.path.display())?;
    }
    Ok(passed)
}

/// Returns the US dollars per request if the prices are known.
fn usd(spec: &AgentSpec, probe: &Probe) -> Option<f64> {
    let [tokens_in, tokens_out] = [probe.tokens_in, probe.tokens_out].map(|tokens| tokens.round() as u64);
    llm::usd(spec, tokens_in, 0, tokens_out).ok().flatten()
}

fn show(out: &mut impl io::Write, name: &str, probe: &Probe, usd: Option<f64>, passed: bool) -> io::Result<()> {
    writeln!(out, "{}  {name}: {} at {}", if passed { "passed" } else { "FAILED" }, probe.model, probe.base_url)?;
    let head = ["", "call", "seconds", "in", "out", "answer"].map(str::to_owned).to_vec();
    let rows = probe.calls.iter().map(|call| {
        let first = call.message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        vec![
            if call.ok { "ok" } else { "no" }.to_owned(),
            call.what.to_owned(),
            print::number(call.seconds, 2),
            call.tokens.input.to_string(),
            call.tokens.out.to_string(),
            // Errors are printed in full.
            if call.ok { ludex_protocol::error::truncate_text(first) } else { call.message.trim().replace('\n', " ") },
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    print::table(out, &rows, |k| (2..5).contains(&k))?;
    let schema = if probe.schema {
        "the endpoint accepts JSON schemas"
    } else {
        "the endpoint rejects JSON schemas, so answers are text"
    };
    let cost = usd.map_or_else(|| "price unknown".to_owned(), |usd| format!("{} USD", print::number(usd, 6)));
    let [tokens_in, tokens_out] = [probe.tokens_in, probe.tokens_out].map(|tokens| print::number(tokens, 0));
    let seconds = print::number(probe.seconds, 2);
    if !passed {
        let mut failed: Vec<&str> =
            probe.calls.iter().filter(|call| !call.ok && call.what != "schema").map(|call| call.what).collect();
        failed.dedup();
        writeln!(out, "failed: {}", failed.join(", "))?;
    }
    writeln!(out, "{schema}; per request {tokens_in} + {tokens_out} tokens, {seconds} s, {cost}")
}

fn document(name: &str, probe: &Probe, usd: Option<f64>, passed: bool) -> Value {
    json!({
        "agent": name, "passed": passed, "model": probe.model, "base_url": probe.base_url, "schema": probe.schema,
        "context": probe.context, "moves": probe.moves, "tokens_in": probe.tokens_in, "tokens_out": probe.tokens_out,
        "seconds": probe.seconds, "usd": usd, "calls": probe.calls,
    })
}
