//! `ludex agents check` of a language model: what five calls found out about its endpoint.

use std::io::{self, Write as _};
use std::path::Path;

use ludex_agents::AgentSpec;
use ludex_protocol::record::Tokens;
use serde_json::{Value, json};

use crate::commands::print;
use crate::named::{self, Measured};

/// What an endpoint can do, as `ludex_agents::llm::Probe` has it.
struct Probe {
    model: String,
    base_url: String,
    schema: bool,
    context: bool,
    moves: bool,
    tokens_in: f64,
    tokens_out: f64,
    seconds: f64,
    calls: Vec<ProbeCall>,
}

/// One call, as `ludex_agents::llm::ProbeCall` has it.
struct ProbeCall {
    what: &'static str,
    ok: bool,
    message: String,
    seconds: f64,
    tokens: Tokens,
}

/// Whether the endpoint is there and answers with moves; an endpoint without JSON schemas is asked for text. What was
/// measured is kept under the agent's name, if it has one.
pub(super) fn run(name: &str, spec: &AgentSpec, data: &Path, as_json: bool) -> anyhow::Result<bool> {
    let probe = match probe(spec) {
        Ok(probe) => probe,
        Err(why) if as_json => {
            print::json(&json!({ "agent": name, "passed": false, "why": why }))?;
            return Ok(false);
        }
        Err(why) => {
            writeln!(io::stdout().lock(), "FAILED  {name}: {why}")?;
            return Ok(false);
        }
    };
    let passed = probe.context && probe.moves;
    let measured = Measured {
        tokens_in: probe.tokens_in,
        tokens_out: probe.tokens_out,
        seconds: probe.seconds,
        schema: probe.schema,
        at: crate::matches::now_text(),
    };
    let agents = named::of_data(data)?;
    let kept = passed && agents.find(name).is_some();
    if kept {
        named::keep_measured(&agents.path, name, &measured)?;
    }
    if as_json {
        print::json(&document(name, &probe, usd(spec, &measured), passed))?;
        return Ok(passed);
    }
    show(&mut io::stdout().lock(), name, &probe, usd(spec, &measured), passed)?;
    if kept {
        writeln!(io::stdout().lock(), "kept in {}", agents.path.display())?;
    }
    Ok(passed)
}

/// USD of a call, where the spec has both prices.
fn usd(spec: &AgentSpec, measured: &Measured) -> Option<f64> {
    // Text, as long as the agent takes whatever arguments it is given.
    let price = |name| spec.number(name).or_else(|| spec.text(name)?.parse().ok());
    Some((measured.tokens_in * price("price_in")? + measured.tokens_out * price("price_out")?) / 1e6)
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
            // What went wrong is told whole.
            if call.ok { ludex_protocol::error::shortened(first) } else { call.message.trim().replace('\n', " ") },
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    print::table(out, &rows, |k| (2..5).contains(&k))?;
    let schema = if probe.schema { "JSON schemas are taken" } else { "no JSON schemas: it is asked for text" };
    let cost = usd.map_or_else(|| "price unknown".to_owned(), |usd| format!("{} USD", print::number(usd, 6)));
    let Probe { tokens_in, tokens_out, seconds, .. } = probe;
    writeln!(out, "{schema}; a question takes {tokens_in:.0} + {tokens_out:.0} tokens and {seconds:.2} s, {cost}")
}

fn document(name: &str, probe: &Probe, usd: Option<f64>, passed: bool) -> Value {
    let calls = probe.calls.iter().map(|call| {
        json!({
            "what": call.what, "ok": call.ok, "message": call.message, "seconds": call.seconds, "tokens": call.tokens,
        })
    });
    json!({
        "agent": name, "passed": passed, "model": probe.model, "base_url": probe.base_url, "schema": probe.schema,
        "context": probe.context, "moves": probe.moves, "tokens_in": probe.tokens_in, "tokens_out": probe.tokens_out,
        "seconds": probe.seconds, "usd": usd, "calls": calls.collect::<Vec<_>>(),
    })
}

/// The five calls.
// TO THE INTEGRATOR: ludex_agents::llm::probe(spec), and its Probe and ProbeCall in the place of those above.
fn probe(_: &AgentSpec) -> Result<Probe, String> {
    Err("this version cannot ask an endpoint yet".into())
}
