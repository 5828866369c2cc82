//! Transcript as plain text for a terminal or a pager. Headings can be found with the searches `/^==` and `/^--`.

use std::io::{self, Write};

use ludex_report::transcript::{Decision, ShownCall, Sums, Transcript, dollars, seconds};

use crate::commands::print;

/// Width of a heading in columns.
const WIDTH: usize = 100;

pub(super) fn write(out: &mut impl Write, transcript: &Transcript) -> io::Result<()> {
    writeln!(out, "{}", heading('=', &format!("{}: {}", transcript.episode, transcript.game)))?;
    if let Some(place) = &transcript.place {
        writeln!(out, "{place}")?;
    }
    writeln!(out, "{}", transcript.result)?;
    if !transcript.counts {
        writeln!(out, "this match does not count")?;
    }
    if let Some(cost) = cost(&transcript.sums) {
        writeln!(out, "{cost}")?;
    }
    transcript.decisions.iter().try_for_each(|decision| write_decision(out, decision))?;
    writeln!(out, "\n{}", heading('-', "end"))?;
    transcript.after.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    block(out, &transcript.end)?;
    writeln!(out, "{}", transcript.result)?;
    match &transcript.broken {
        Some(why) => writeln!(out, "NOT VERIFIED: {why}"),
        None => Ok(()),
    }
}

/// Formats the cost of calls, e.g. `3 calls, 1234 tokens in and 56 out, 4.20 s, $0.0012`; `None` without calls.
pub(super) fn cost(sums: &Sums) -> Option<String> {
    if sums.calls == 0 {
        return None;
    }
    let calls = print::count(sums.calls, "call", "calls");
    let mut out = format!("{calls}, {} tokens in and {} out, {}", sums.input, sums.output, seconds(sums.ms));
    out.extend(sums.usd.map(|usd| format!(", {}", dollars(usd))));
    if sums.unpriced > 0 {
        out += &match sums.usd {
            Some(_) => format!(" and {} without a known price", print::count(sums.unpriced, "call", "calls")),
            None => ", price unknown".to_owned(),
        };
    }
    if sums.refused > 0 {
        out += &format!(", {}", print::count(sums.refused, "refused attempt", "refused attempts"));
    }
    Some(out)
}

fn write_decision(out: &mut impl Write, d: &Decision) -> io::Result<()> {
    writeln!(out, "\n{}", heading('-', &format!("move {}: {}", d.ply, d.who)))?;
    d.since.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    block(out, &d.position)?;
    let many = d.attempts.len() > 1;
    for (k, attempt) in d.attempts.iter().enumerate() {
        if many {
            writeln!(out, "attempt {}", k + 1)?;
        }
        attempt.calls.iter().try_for_each(|call| write_call(out, call))?;
        if let Some(why) = &attempt.refused {
            writeln!(out, "refused: {why}")?;
        }
        write_notes(out, &attempt.notes)?;
    }
    let forced = if d.forced { " (forced: not the agent's choice)" } else { "" };
    match &d.played {
        Some(played) => writeln!(out, "plays {played}{forced}, {}", seconds(d.ms))?,
        None => writeln!(out, "makes no move")?,
    }
    write_notes(out, &d.notes)
}

fn write_notes(out: &mut impl Write, notes: &[(String, String)]) -> io::Result<()> {
    notes.iter().try_for_each(|(name, text)| writeln!(out, "{name}: {text}"))
}

fn write_call(out: &mut impl Write, call: &ShownCall) -> io::Result<()> {
    if call.system_again {
        writeln!(out, "system prompt as before")?;
    }
    for message in &call.messages {
        writeln!(out, "{} prompt:", message.role)?;
        block(out, &message.content)?;
    }
    if let Some(reasoning) = &call.reasoning {
        writeln!(out, "reasoning:")?;
        block(out, reasoning)?;
    }
    let purpose = if call.purpose == "move" { String::new() } else { format!(" ({})", call.purpose) };
    writeln!(out, "answer of {}{purpose}, {}:", call.model, call.facts)?;
    block(out, if call.answer.is_empty() { "(empty)" } else { &call.answer })?;
    let read = call.read.as_ref().map(|read| format!(", read as {read}")).unwrap_or_default();
    writeln!(out, "verdict: {}{read}", call.verdict)
}

/// Returns a heading such as `-- text ------`, filled to [`WIDTH`].
fn heading(rule: char, text: &str) -> String {
    let text = format!("{rule}{rule} {text} ");
    let rest = WIDTH.saturating_sub(text.chars().count());
    format!("{text}{}", rule.to_string().repeat(rest)).trim_end().to_owned()
}

fn block(out: &mut impl Write, text: &str) -> io::Result<()> {
    for line in text.trim_end().lines() {
        writeln!(out, "{}", format!("    {line}").trim_end())?;
    }
    Ok(())
}
