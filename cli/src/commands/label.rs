//! `ludex label`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use ludex_agents::llm::{self, Judge};
use ludex_play::agents_file;
use ludex_play::runs::labeling::judge::{self, JudgeResult, JudgeRun};
use ludex_play::runs::labeling::store::LabelStore;
use ludex_play::runs::labeling::{DecisionSample, Labeling, Selection, person};
use ludex_report::labels::agreement::RubricAgreement;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle::{REPORT, is_bundle};
use serde_json::{Value, json};

use super::{evaluate, print};

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("labeler").required(true).args(["judge", "by", "import", "agreement"]))]
pub(super) struct Args {
    /// Label decisions of this run: a name below DATA/runs, or a folder
    #[arg(value_name = "RUN")]
    run: String,
    /// Label by this rubric of the run's suite [default: its only rubric]
    #[arg(long, value_name = "ID")]
    rubric: Option<String>,
    /// Let this language model label: a spec, or a name listed by `ludex agents`
    #[arg(long, value_name = "AGENT")]
    judge: Option<String>,
    /// Label at this terminal under this name; standard input may also have one reply per line
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Add labels from this file of JSON lines {episode, seat, turn, labels, by}
    #[arg(long, value_name = "FILE")]
    import: Option<PathBuf>,
    /// Print the agreement of the labelers: Cohen's kappa for each pair, and Krippendorff's alpha
    #[arg(long)]
    agreement: bool,
    /// Label a random sample of this many decisions, equal for all labelers [default: all]
    #[arg(long, value_name = "N", conflicts_with_all = ["import", "agreement"])]
    sample: Option<usize>,
    /// Set the seed of the sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Label only decisions of this agent, with or without its variant [default: all]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["import", "agreement"])]
    agent: Option<String>,
    /// Stop when the judge's calls have cost this many dollars [default: no limit]
    #[arg(long, value_name = "usd=X", value_parser = dollars, requires = "judge")]
    budget: Option<f64>,
    /// Ask the judge about this many decisions at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// Use the runs and the named agents in this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.strip_prefix("usd=").and_then(|amount| amount.parse().ok());
    let amount = amount.filter(|x: &f64| x.is_finite() && *x >= 0.0);
    amount.ok_or_else(|| format!("expected usd=X, such as usd=5, got {text:?}"))
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if args.agreement {
        let run = Archive::open(&args.run, &args.data)?;
        let found = Labeling::new(&run, args.rubric.as_deref())?.agreement();
        return if args.json {
            Ok(print::json(&json!(found))?)
        } else {
            Ok(print_agreement(&found, &mut io::stdout().lock())?)
        };
    }
    ensure!(!is_bundle(Path::new(&args.run)), "expected the folder of a run, got the bundle {}", args.run);
    let folder = Archive::folder(&args.run, &args.data)?;
    let place = folder.to_str().context("expected a folder name in Unicode, got other bytes")?;
    // The file is locked before it is read, so that no other labeler adds lines meanwhile.
    Archive::without_lines(&folder)?;
    let store = LabelStore::open(&folder)?;
    let run = Archive::open(place, &args.data)?;
    let labeling = Labeling::new(&run, args.rubric.as_deref())?;
    let done = match (&args.judge, &args.by, &args.import) {
        (Some(judge), _, _) => by_judge(&args, judge, &labeling, &store)?,
        (_, Some(name), _) => by_person(&args, name, &labeling, &store)?,
        (_, _, Some(file)) => {
            let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
            let count = labeling.import(&text, &store).with_context(|| file.display().to_string())?;
            let said = format!("{} from {}", print::count(count, "label line", "label lines"), file.display());
            Labeled { count, said, facts: json!({ "imported": count }), failure: None }
        }
        _ => bail!("expected --judge, --by, --import or --agreement, got none"),
    };
    drop(store);
    if done.count > 0 {
        rewrite_report(&folder);
    }
    if args.json {
        let mut all =
            json!({ "run": run.about.run, "rubric": labeling.rubric.id, "file": folder.join("labels.jsonl") });
        if let (Value::Object(all), Value::Object(facts)) = (&mut all, done.facts) {
            all.extend(facts);
        }
        print::json(&all)?;
    } else {
        writeln!(io::stdout().lock(), "{}", done.said)?;
    }
    done.failure.map_or(Ok(()), |why| Err(anyhow::Error::msg(why)))
}

/// Result of a labeler.
struct Labeled {
    /// Number of labeled decisions.
    count: usize,
    /// Summary that the terminal prints.
    said: String,
    /// Fields of the JSON document.
    facts: Value,
    failure: Option<String>,
}

fn by_judge(args: &Args, text: &str, labeling: &Labeling, store: &LabelStore) -> anyhow::Result<Labeled> {
    let agents = agents_file::of_data(&args.data)?;
    let (name, spec) = agents.resolve(text, &args.data)?;
    let name = if agents.find(text.trim()).is_some() { Some(name) } else { llm::model_name(&spec) };
    let name = name.with_context(|| format!("--judge: expected a language model (llm model=...), got {spec}"))?;
    let priced = llm::usd(&spec, 1, 0, 1)?.is_some();
    ensure!(args.budget.is_none() || priced, "--budget: expected a judge with prices (price_in, price_out)");
    let judge = Judge::new(&spec)?;
    let by = format!("judge:{name}");
    let selection = select(args, labeling, &by)?;
    let bar = print::progress(selection.due.len() as u64, "labeling");
    let run = JudgeRun { judge: &judge, by: by.clone(), usd: args.budget, jobs: args.jobs.into() };
    let result = judge::label(labeling, store, &selection.due, &run, || bar.inc(1));
    bar.finish_and_clear();
    let JudgeResult { labeled, unread, left, usage, failure } = result;
    let mut said = summary(&selection, labeled, &by);
    if unread > 0 {
        said += &format!("; {unread} without a readable reply");
    }
    if left > 0 {
        said += &format!("; {left} left, repeat the command to continue");
    }
    said += &format!("\n{}", evaluate::costs(&usage));
    let mut facts = facts(&selection, labeled, &by, left);
    facts["unread"] = unread.into();
    facts["usage"] = json!(usage);
    let failure = failure.map(|why| format!("{why}; repeat the command to continue"));
    let unlabeled = (unread > 0).then(|| {
        let decisions = print::count(unread, "decision has", "decisions have");
        format!("{decisions} no label, since no reply of {by} was readable; repeat the command to ask again")
    });
    Ok(Labeled { count: labeled, said, facts, failure: failure.or(unlabeled) })
}

fn by_person(args: &Args, name: &str, labeling: &Labeling, store: &LabelStore) -> anyhow::Result<Labeled> {
    ensure!(
        ludex_protocol::is_agent_name(name),
        "--by: expected a name of 1 to 40 characters of A-Za-z0-9._-, got {name:?}"
    );
    let by = format!("person:{name}");
    let selection = select(args, labeling, &by)?;
    // With --json, standard output has the document alone.
    let result = if args.json {
        person::label(labeling, store, &selection.due, &by, &mut io::stdin().lock(), &mut io::stderr().lock())?
    } else {
        person::label(labeling, store, &selection.due, &by, &mut io::stdin().lock(), &mut io::stdout().lock())?
    };
    let mut said = summary(&selection, result.labeled, &by);
    if result.left + result.skipped > 0 {
        said += &format!("; {} skipped, {} left, repeat the command to continue", result.skipped, result.left);
    }
    let mut facts = facts(&selection, result.labeled, &by, result.left);
    facts["skipped"] = result.skipped.into();
    Ok(Labeled { count: result.labeled, said, facts, failure: None })
}

fn select(args: &Args, labeling: &Labeling, by: &str) -> anyhow::Result<Selection> {
    labeling.select(by, &DecisionSample { size: args.sample, seed: args.seed, agent: args.agent.clone() })
}

/// Returns the labels of this command and of the whole sample in one line.
fn summary(Selection { selected, sampled, due }: &Selection, labeled: usize, by: &str) -> String {
    let done = sampled - due.len() + labeled;
    let now = print::count(labeled, "decision labeled", "decisions labeled");
    format!("{now} by {by}; done: {done} of a sample of {sampled} from {selected}")
}

fn facts(selection: &Selection, labeled: usize, by: &str, left: usize) -> Value {
    let Selection { selected, sampled, .. } = selection;
    json!({ "by": by, "selected": selected, "sampled": sampled, "labeled": labeled, "left": left })
}

/// Writes the report in the run's folder again, if there is one.
fn rewrite_report(folder: &Path) {
    let Ok(text) = fs::read_to_string(folder.join(REPORT)) else { return };
    let title = serde_json::from_str(&text).ok().and_then(|report: Value| report["title"].as_str().map(str::to_owned));
    evaluate::write_report(folder, title.unwrap_or_default());
}

/// Prints the agreement as tables.
fn print_agreement(found: &RubricAgreement, out: &mut impl Write) -> io::Result<()> {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| print::number(value, 3));
    let label = |label: &Option<String>| label.clone().unwrap_or_default();
    writeln!(out, "rubric {}", found.rubric)?;
    let mut rows = vec![["labeler", "decisions"].map(str::to_owned).to_vec()];
    rows.extend(found.labelers.iter().map(|of| vec![of.by.clone(), of.decisions.to_string()]));
    print::table(out, &rows, |k| k > 0)?;
    if found.labelers.len() < 2 {
        return writeln!(out, "expected at least two labelers for an agreement, got {}", found.labelers.len());
    }
    let mut rows = vec![["pair", "label", "kappa", "n"].map(str::to_owned).to_vec()];
    let pair = |a: &str, b: &str| format!("{a} - {b}");
    rows.extend(
        found
            .pairs
            .iter()
            .map(|of| vec![pair(&of.a, &of.b), label(&of.label), number(of.kappa), of.decisions.to_string()]),
    );
    writeln!(out)?;
    print::table(out, &rows, |k| k > 1)?;
    let mut rows = vec![["all labelers", "label", "alpha", "n"].map(str::to_owned).to_vec()];
    rows.extend(
        found.alphas.iter().map(|of| vec![String::new(), label(&of.label), number(of.alpha), of.decisions.to_string()]),
    );
    writeln!(out)?;
    print::table(out, &rows, |k| k > 1)?;
    writeln!(out, "n: number of shared decisions; -: undefined, because the labels do not vary")
}
