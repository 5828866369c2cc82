//! `ludex evaluate`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use ludex_play::runs::driver::{Budget, RunNews, StopReason};
use ludex_play::runs::estimate::{Cost, PartEstimate, Pilot, RunEstimate};
use ludex_play::runs::evaluation::{
    Candidates, Evaluation, EvaluationRequest, EvaluationResults, PlayedEvaluation, parse_roles, suite_text,
};
use ludex_play::runs::executor::LocalExecutor;
use ludex_play::runs::preflight;
use ludex_play::runs::report_files;
use ludex_referee::answer_counts::Answers;
use ludex_referee::schedule::Deals;
use ludex_referee::suite::is_word;
use ludex_referee::suite::plan::Plan;
use ludex_referee::suite::shard::Shard;
use ludex_report::ReportAbout;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::summary::SummaryScore;
use ludex_report::runs::summary::{GroupScore, PartResult};
use ludex_report::runs::usage::Usage;
use ludex_report::scale::RatingOptions;
use serde_json::json;

use super::print::{self, number};
use super::report;

/// What `ludex evaluate` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The agent to evaluate, or a name given with `ludex agents add`; may be repeated
    #[arg(long = "agent", value_name = "AGENT", required = true)]
    agents: Vec<String>,
    /// A built-in suite (`ludex suites` lists them), or a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    suite: String,
    /// Name of the run, required but for --estimate: small letters, digits, _ and -; the same command again continues it
    #[arg(long, value_name = "NAME", required_unless_present = "estimate")]
    run: Option<String>,
    /// Folder of the runs and the named agents
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Play nothing; estimate the matches, calls, tokens, dollars and hours, and the width of the interval
    #[arg(long)]
    estimate: bool,
    /// Stop between pairs when this is used up; may be repeated
    #[arg(long, value_name = "usd=X|games=N|tokens=N|hours=H")]
    budget: Vec<String>,
    /// Stop a part as soon as its rating is known to this many points to either side (95 %; the first look is after 8 blocks)
    #[arg(long, value_name = "POINTS")]
    ci: Option<f64>,
    /// Play only this shard of the plan, such as 2/8, so that several machines share the work: see `ludex merge`
    #[arg(long, value_name = "K/N", conflicts_with_all = ["estimate", "ci"])]
    shard: Option<Shard>,
    /// Play this share of the suite, but at least one block of each pairing; 0.05 is a quick look
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    scale: f64,
    /// Play only this part of the suite; may be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// Fill a role of the suite with an agent, or a name given with `ludex agents add`; repeat it for a role of several agents
    #[arg(long = "role", value_name = "ROLE=AGENT")]
    roles: Vec<String>,
    /// Draw the seeds from this secret, which the report publishes [default: the suite's open seeds]
    #[arg(long, value_name = "HEX")]
    secret: Option<String>,
    /// paired: the matches of a block share a seed, with seats swapped; once: in games with something hidden or drawn, each match
    /// has a seed of its own, for agents that can remember [default: as the suite says]
    #[arg(long, value_name = "once|paired")]
    deals: Option<Deals>,
    /// For --estimate: an agent of about the same strength [default: the mean of random and the middle of the ladder]
    #[arg(long, value_name = "AGENT", requires = "estimate")]
    like: Option<String>,
    /// For --estimate: an earlier run of the same agent, small is enough: tells, game by game, what a move uses, in the place of guesses
    #[arg(long, value_name = "RUN", requires = "estimate")]
    pilot: Option<String>,
    /// Matches at a time [default: 8 with a language model, 1024 if it is asked in batches, else one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    anyhow::ensure!((1e-6..=100.0).contains(&args.scale), "--scale is a number above 0 and at most 100, such as 0.05");
    if let Some(text) = &args.secret {
        let bytes = hex::decode(text).ok().filter(|bytes| !bytes.is_empty());
        bytes.context("--secret takes bytes in hex, such as 00ff12; 32 digits are plenty")?;
    }
    let budget = budget(&args.budget)?;
    let evaluation = Evaluation::new(EvaluationRequest {
        candidates: Candidates::resolve(&args.agents, &args.data)?,
        suite: suite_text(&args.suite)?,
        data: args.data.clone(),
        scale: args.scale,
        only: args.only.clone(),
        roles: parse_roles(&args.roles, &args.data)?,
        secret: args.secret.clone(),
        deals: args.deals,
        shard: args.shard,
        jobs: args.jobs.map(usize::from),
    })?;
    if args.estimate {
        let pilot = args.pilot.as_ref().map(|run| Pilot::of(&Archive::open(run, &args.data)?)).transpose()?;
        let estimate = evaluation.estimate(args.like.as_deref(), &pilot.unwrap_or_default())?;
        return if args.json {
            Ok(print::json(&json!(estimate))?)
        } else {
            Ok(show_estimate(&estimate, &mut io::stdout().lock())?)
        };
    }
    let name = args.run.clone().unwrap_or_default();
    anyhow::ensure!(is_word(&name), "--run {name:?}: only small letters, digits, _ and - are allowed");
    let person = args.agents.iter().any(|agent| agent.split_whitespace().next() == Some("human"));
    preflight::shortages(&evaluation.plan).iter().for_each(|why| eprintln!("ludex: {why}"));
    let bar = print::progress(evaluation.plan.matches_at_most(), "playing");
    if person {
        // The terminal is the board.
        bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    let played = evaluation.play(&LocalExecutor, &name, budget, args.ci, |news| match news {
        RunNews::Due(n) => bar.set_length(bar.position() + n as u64),
        RunNews::Match(_) => bar.inc(1),
    })?;
    bar.finish_and_clear();
    let findings = played.findings(&evaluation.plan)?;
    tell(&args, &evaluation.plan, &played, &findings)?;
    match &played.end {
        StopReason::Done if !findings.games.is_empty() && findings.games.iter().all(|g| !g.reason().counts()) => {
            let log = played.folder.path().join("log.jsonl");
            bail!("no match counts: the infrastructure failed in every one; {} says why", log.display())
        }
        StopReason::Done => Ok(()),
        StopReason::Budget(why) => {
            eprintln!("ludex: stopped: {why}; run the same command with a larger budget to continue");
            Ok(())
        }
        StopReason::Infrastructure(why) => bail!("{}{why}", print::STOPPED),
        StopReason::Waiting => bail!("the agents cannot play at present; run the same command again to continue"),
    }
}

/// The budget as it was typed.
fn budget(given: &[String]) -> anyhow::Result<Budget> {
    let mut out = Budget::default();
    for text in given.iter().flat_map(|text| text.split(',')) {
        let wrong = || format!("--budget {text:?} is not valid; write usd=50, games=200, tokens=1000000 or hours=2");
        let (what, much) = text.split_once('=').with_context(wrong)?;
        let much: f64 = much.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0).with_context(wrong)?;
        match what.trim() {
            "usd" => out.usd = Some(much),
            "games" => out.games = Some(much as u64),
            "tokens" => out.tokens = Some(much as u64),
            "hours" => out.hours = Some(much),
            _ => bail!(wrong()),
        }
    }
    Ok(out)
}

/// Prints the results and writes the report.
fn tell(args: &Args, plan: &Plan, played: &PlayedEvaluation, findings: &EvaluationResults) -> anyhow::Result<()> {
    let EvaluationResults { rows, groups, summaries, .. } = findings;
    let folder = played.folder.path();
    let title = format!("{}: {}", plan.suite.title, args.agents.join(", "));
    let files = write_report(folder, title);
    let usage = played.folder.usage();
    if args.json {
        let (ended, why) = match &played.end {
            StopReason::Done => ("done", None),
            StopReason::Budget(why) => ("budget", Some(why)),
            StopReason::Infrastructure(why) => ("infrastructure", Some(why)),
            StopReason::Waiting => ("waiting", None),
        };
        print::json(&json!({
            "run": played.folder.run(), "shard": plan.shard, "end": ended, "why": why, "matches": played.records.len(),
            "played": played.played, "parts": rows, "groups": groups, "summaries": summaries, "usage": usage, "folder": folder,
            "files": files,
        }))?;
    } else {
        let mut out = io::stdout().lock();
        show(&mut out, rows)?;
        show_more(&mut out, rows, groups, summaries)?;
        let all = print::count(played.records.len(), "match", "matches");
        writeln!(out, "{all}, {} of them now; {}", played.played, costs(&usage))?;
        writeln!(out, "{}", folder.join("report.html").display())?;
    }
    let discarded: u64 = rows.iter().map(|row| row.discarded).sum();
    if discarded > 0 {
        eprintln!("ludex: {discarded} discarded; the last: {}", played.last_failure());
    }
    Ok(())
}

/// Writes the report of a run into its folder; the files. The run is kept without it, so a failure is only told.
pub(super) fn write_report(folder: &Path, title: String) -> Vec<PathBuf> {
    let files = || {
        let name = folder.to_str().context("the folder's name is not Unicode")?;
        let run = Archive::open(name, folder)?;
        let words = ["ludex", "report", name, "--out", name].map(str::to_owned);
        let about = ReportAbout {
            title,
            command: report::line(&words),
            secret: report_files::secret(&run),
            ..ReportAbout::default()
        };
        let (made, _) = report_files::report(&[&run], RatingOptions::default(), about, |_| None);
        report::write(&made, folder)
    };
    files().unwrap_or_else(|e: anyhow::Error| {
        eprintln!("ludex: {e:#}");
        Vec::new()
    })
}

/// What calls cost, in words.
pub(super) fn costs(usage: &Usage) -> String {
    if usage.calls == 0 {
        return "no calls".to_owned();
    }
    let money = if usage.unpriced == usage.calls {
        "no price known".to_owned()
    } else {
        let part = if usage.unpriced > 0 {
            format!(" without {} calls of unknown price", usage.unpriced)
        } else {
            String::new()
        };
        format!("{:.2} dollars{part}", usage.usd)
    };
    let part = |tokens: u64, what: &str| if tokens > 0 { format!(" ({tokens} {what})") } else { String::new() };
    let (cached, thoughts) = (part(usage.cached_tokens, "cached"), part(usage.reasoning_tokens, "thoughts"));
    let (read, written) = (usage.tokens_in, usage.tokens_out);
    format!("{} calls, {read} tokens in{cached}, {written} out{thoughts}, {money}", usage.calls)
}

/// Metrics of parts that are printed; more would hide the table.
const PRINTED: usize = 30;

/// What stands below the table: parts that could not be played, metrics that parts ask for, and means over groups and parts.
pub(super) fn show_more(
    out: &mut impl Write,
    rows: &[PartResult],
    groups: &[GroupScore],
    summaries: &[SummaryScore],
) -> io::Result<()> {
    let notes: BTreeSet<String> =
        rows.iter().filter_map(|row| Some(format!("{}: {}", row.part, row.note.as_ref()?))).collect();
    notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    let measured: usize = rows.iter().map(|row| row.metrics.len()).sum();
    if measured > PRINTED {
        writeln!(out, "{measured} measurements of parts: the report and --json have them")?;
    }
    for row in rows.iter().filter(|_| measured <= PRINTED) {
        for (metric, measure) in &row.metrics {
            let range = measure
                .low
                .zip(measure.high)
                .map_or_else(String::new, |(low, high)| format!(" ({} to {})", number(low, 3), number(high, 3)));
            writeln!(out, "{}: {} of {} {}{range}", row.part, metric, row.agent, number(measure.value, 3))?;
        }
    }
    answers(out, rows)?;
    // The mean over one part stands in the table.
    for GroupScore { group, agent, parts, score } in groups.iter().filter(|group| group.parts > 1) {
        writeln!(
            out,
            "{group}: mean score of {agent} {} over {}",
            number(*score, 3),
            print::count(*parts, "part", "parts")
        )?;
    }
    for SummaryScore { summary, agent, parts, value } in summaries {
        let over = print::count(*parts, "part", "parts");
        writeln!(out, "{summary}: {agent} {} over {over}", number(*value, 3))?;
    }
    Ok(())
}

/// What became of the answers of language models: a line for each agent, and a warning for each part with many bad ones.
fn answers(out: &mut impl Write, rows: &[PartResult]) -> io::Result<()> {
    let agents: BTreeSet<&str> =
        rows.iter().filter(|row| row.answers.is_some()).map(|row| row.agent.as_str()).collect();
    for agent in agents {
        let own = || rows.iter().filter(|row| row.agent == agent);
        let mut all = Answers::default();
        own().filter_map(|row| row.answers.as_ref()).for_each(|answers| all.add(answers));
        let kinds = all.by_kind().into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}"));
        let lost: u64 = own().map(|row| row.lost_by_answers).sum();
        let lost = if lost > 0 { format!("; {lost} matches were lost by them") } else { String::new() };
        writeln!(out, "answers of {agent}: {}{lost}", kinds.collect::<Vec<_>>().join(", "))?;
        for row in own() {
            let warnings = row.answers.iter().flat_map(Answers::warnings);
            warnings.into_iter().try_for_each(|warning| writeln!(out, "WARNING: {}: {warning}", row.part))?;
        }
    }
    Ok(())
}

/// The table of a run.
pub(super) fn show(out: &mut impl Write, rows: &[PartResult]) -> io::Result<()> {
    let several = rows.iter().any(|r| r.agent != rows[0].agent);
    let mut head =
        vec!["part", "level", "progress", "score", "95 %", "w-d-l", "rating", "95 %", "blocks", "for +-30", "left out"];
    if several {
        head.insert(1, "agent");
    }
    let mut table = vec![head.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>()];
    let dash = || "-".to_owned();
    for row in rows {
        let range = |low: f64, high: f64, digits| format!("{} to {}", number(low, digits), number(high, digits));
        let level = row.level.as_ref();
        let progress = level.map_or_else(dash, |l| match &l.progress {
            _ if l.topped => "topped".into(),
            Some(p) => format!("{} %", number(p.value, 1)),
            None => dash(),
        });
        let lost = match (row.discarded, row.invalid) {
            (0, 0) => dash(),
            (discarded, 0) => format!("{discarded} discarded"),
            (discarded, invalid) => format!("{discarded} discarded, {invalid} invalid"),
        };
        let mut cells = vec![
            row.part.clone(),
            level.map_or_else(dash, |l| l.level.to_string()),
            progress,
            row.score.map_or_else(dash, |s| number(s.value, 3)),
            row.score.map_or_else(dash, |s| range(s.low, s.high, 3)),
            match &row.note {
                Some(_) => dash(),
                None => format!("{}-{}-{}", row.tally.wins, row.tally.draws, row.tally.losses),
            },
            row.rating.map_or_else(dash, |r| number(r.value, 0)),
            row.rating.map_or_else(dash, |r| range(r.low, r.high, 0)),
            row.rating.map_or_else(dash, |_| row.blocks.to_string()),
            row.blocks_for_30.map_or_else(dash, |n| n.to_string()),
            lost,
        ];
        if several {
            cells.insert(1, row.agent.clone());
        }
        table.push(cells);
    }
    print::table(out, &table, |k| k > usize::from(several))?;
    if rows.iter().any(|row| row.blocks_for_30.is_some()) {
        writeln!(out, "for +-30: blocks like these that would give an interval of 30 points to either side")?;
    }
    Ok(())
}

/// Prints an estimate.
fn show_estimate(estimate: &RunEstimate, out: &mut impl Write) -> io::Result<()> {
    let head = ["part", "matches", "moves", "calls", "tokens in", "out", "rating +-"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let cells = |id: &str, cost: &Cost, width: String| {
        let Cost { matches, moves, calls, tokens_in, tokens_out, .. } = *cost;
        let numbers = [matches, moves, calls, tokens_in, tokens_out].map(|x| print::number(x, 0));
        [vec![id.to_owned()], numbers.to_vec(), vec![width]].concat()
    };
    for PartEstimate { part, cost, points, .. } in &estimate.parts {
        rows.push(cells(part, cost, points.map_or_else(|| "-".to_owned(), |points| print::number(points, 0))));
    }
    rows.push(cells("all", &estimate.total, String::new()));
    print::table(out, &rows, |k| k > 0)?;
    let notes = estimate.parts.iter().filter_map(|part| Some((&part.part, part.note.as_ref()?)));
    notes.into_iter().try_for_each(|(part, note)| writeln!(out, "{part}: {note}"))?;
    let usd = estimate.usd.map_or_else(|| "no price known".to_owned(), |usd| format!("{usd:.2} dollars"));
    writeln!(out, "about {usd}, {} hours", print::number(estimate.hours, 2))?;
    estimate.guesses.iter().try_for_each(|guess| writeln!(out, "guessed: {guess}"))
}
