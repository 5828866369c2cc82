//! `ludex suites`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use ludex_play::runs::evaluation::{parse_roles, suite_text};
use ludex_play::runs::preflight;
use ludex_referee::suite::plan::{Plan, PlannedPart};
use ludex_referee::suite::roles::{RoleAgent, RoleAssignment};
use ludex_referee::suite::variants::Variant;
use ludex_referee::suite::{MatchPolicy, SUITES, Schedule, Suite};
use serde_json::{Value, json};

use super::print;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Built-in suite or TOML file to explain [default: list the built-in suites]
    suite: Option<String>,
    /// Plan the suite for this many candidates; some parts need at least two candidates
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    candidates: u32,
    /// Fill a role of the suite with an agent; repeat for a role with several agents
    #[arg(long = "role", value_name = "ROLE=AGENT", requires = "suite")]
    roles: Vec<String>,
    /// Read named agents from this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let explain = |name: &str, text: &str| ExplainedSuite::new(name, text, &args);
    let Some(name) = &args.suite else {
        let all =
            SUITES.iter().map(|(name, text)| explain(name, text)).collect::<anyhow::Result<Vec<ExplainedSuite>>>()?;
        if args.json {
            return Ok(print::json(&json!({ "suites": all.iter().map(ExplainedSuite::line).collect::<Vec<_>>() }))?);
        }
        let mut rows = vec![["suite", "version", "parts", "matches", "title"].map(str::to_owned).to_vec()];
        rows.extend(all.iter().map(|suite| {
            let plan = &suite.plan;
            let Suite { name, version, title, .. } = &plan.suite;
            let matches = plan.matches_at_most();
            // If candidates only play each other, a single candidate has no matches.
            let matches = if matches > 0 { matches.to_string() } else { "-".to_owned() };
            let parts = plan.parts.len().to_string();
            vec![name.clone(), version.to_string(), parts, matches, title.clone()]
        }));
        print::table(&mut out, &rows, |k| (1..=3).contains(&k))?;
        return Ok(writeln!(
            out,
            "matches: maximum for one candidate; - if candidates only play each other. `ludex suites NAME` explains a \
             suite, `--candidates N` plans it for more candidates"
        )?);
    };
    let suite = explain(name, &suite_text(name)?)?;
    if args.json { Ok(print::json(&suite.document())?) } else { Ok(suite.show(&mut out)?) }
}

/// Suite with the plan for a number of candidates.
struct ExplainedSuite {
    text: String,
    plan: Plan,
    /// Roles that have no agent yet.
    open: Vec<String>,
    candidates: u32,
}

impl ExplainedSuite {
    fn new(name: &str, text: &str, args: &Args) -> anyhow::Result<Self> {
        let games = ludex_games::builtin();
        let mut suite =
            Suite::parse(text, &games).map_err(|e| anyhow::anyhow!("the suite {name} cannot be used: {e}"))?;
        suite.fill(&parse_roles(&args.roles, &args.data)?)?;
        // The number of matches is independent of the agents of a role, so placeholders fill open roles.
        let known = suite.assigned_roles();
        let open: Vec<(String, usize)> = suite.roles.iter().map(|role| (role.name.clone(), role.count)).collect();
        let open: Vec<(String, usize)> = open.into_iter().filter(|(name, _)| !known.contains_key(name)).collect();
        let placeholder = |(name, count): &(String, usize)| {
            let agent = |k: usize| RoleAgent { name: format!("@{name}"), spec: format!("@{name} {k}") };
            (name.clone(), (1..=*count).map(agent).collect())
        };
        suite.fill(&open.iter().map(placeholder).collect::<RoleAssignment>())?;
        let candidates: Vec<(String, String)> =
            (1..=args.candidates).map(|k| (format!("candidate {k}"), format!("candidate {k}"))).collect();
        let plan = Plan::new(suite, &candidates, 1.0, &games)?;
        preflight::check(&plan).with_context(|| format!("the suite {name} cannot be used"))?;
        let open = open.into_iter().map(|(name, _)| name).collect();
        Ok(ExplainedSuite { text: text.to_owned(), plan, open, candidates: args.candidates })
    }

    /// Returns the suite as a JSON entry of the list of suites.
    fn line(&self) -> Value {
        let Suite { name, version, title, about, .. } = &self.plan.suite;
        json!({
            "suite": name, "version": version, "digest": Suite::digest(&self.text), "title": title, "about": about,
            "parts": self.plan.parts.len(), "matches": self.plan.matches_at_most(),
        })
    }

    /// Returns the suite as a JSON document, with the plan of each part.
    fn document(&self) -> Value {
        let suite = &self.plan.suite;
        let mut all = self.line();
        all["candidates"] = self.candidates.into();
        all["seed"] = suite.seed.into();
        all["deals"] = json!(suite.deals);
        all["llm"] = json!(suite.llm);
        all["roles"] = json!(suite.roles);
        all["open_roles"] = json!(self.open);
        all["variants"] = json!(suite.variants);
        all["paraphrases"] = json!(suite.paraphrases);
        all["rubrics"] = json!(suite.rubrics);
        all["summaries"] = json!(suite.summaries);
        all["figures"] = self.figures().into();
        let part = |part: &PlannedPart| {
            let mut one = json!(part.part);
            one["game"] = part.game.spec().string.clone().into();
            one["games"] = part.games.iter().map(|game| game.spec().string.clone()).collect();
            one["policy"] = json!(suite.policy(&part.part));
            one["matches"] = part.matches_at_most().into();
            one["note"] = json!(part.short_of());
            one
        };
        all["parts"] = self.plan.parts.iter().map(part).collect();
        all
    }

    /// Returns the figures that the suite defines.
    fn figures(&self) -> Vec<Value> {
        json!(self.plan.suite)["figure"].as_array().cloned().unwrap_or_default()
    }

    fn show(&self, out: &mut impl Write) -> io::Result<()> {
        let suite = &self.plan.suite;
        writeln!(out, "{}, version {}: {}", suite.name, suite.version, suite.title)?;
        if !suite.about.is_empty() {
            writeln!(out, "{}", suite.about)?;
        }
        let heads = ["part", "game", "schedule", "blocks", "matches", "against", "metrics", "groups"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        for part in &self.plan.parts {
            let of = &part.part;
            rows.push(vec![
                of.id.clone(),
                of.game.clone(),
                word(&of.schedule),
                if of.stop.is_some() { "-".to_owned() } else { of.blocks.to_string() },
                part.matches_at_most().to_string(),
                if of.schedule == Schedule::Against { of.opponents.join(", ") } else { "-".to_owned() },
                comma_list(of.metrics.iter().map(ToString::to_string)),
                comma_list(of.groups.iter().cloned()),
            ]);
        }
        print::table(out, &rows, |k| (3..=4).contains(&k))?;
        let most = print::count(self.plan.matches_at_most() as usize, "match", "matches");
        let candidates = print::count(self.candidates as usize, "candidate", "candidates");
        writeln!(out, "at most {most} of {candidates}; deals: {}; seed: {}", suite.deals, suite.seed)?;
        for part in &self.plan.parts {
            let of = &part.part;
            let mut facts = Vec::new();
            if !of.tables.is_empty() {
                facts.push(format!("tables {}", of.tables.join(", ")));
            }
            facts.extend((of.seats != Default::default()).then(|| format!("seats {}", word(&of.seats))));
            facts.extend((of.order != Default::default()).then(|| format!("order {}", word(&of.order))));
            facts.extend((of.cycles > 1).then(|| format!("{} cycles", of.cycles)));
            facts.extend(of.itself.then(|| "candidates among the opponents also play themselves".to_owned()));
            if !of.sweep.is_empty() {
                let games: Vec<&str> = part.games.iter().map(|game| game.spec().string.as_str()).collect();
                facts.push(format!("sweeps {}", games.join(" and ")));
            }
            facts.extend(of.starts.as_ref().map(|file| format!("starts of {file}")));
            facts.extend(of.moves.map(|n| format!("truncated after {}", print::count(n as usize, "move", "moves"))));
            facts.extend(
                (!of.cache_answers.is_empty()).then(|| format!("answers cached: {}", of.cache_answers.join(", "))),
            );
            facts.extend(of.stop.as_ref().map(|stop| format!("stop {}", arguments(stop))));
            facts.extend((!of.llm.is_empty()).then(|| format!("llm {}", arguments(&of.llm))));
            facts.extend((!of.variants.is_empty()).then(|| variants(&of.variants)));
            facts.extend(of.policy.as_ref().map(|own| policy(own, &suite.policy)).filter(|text| !text.is_empty()));
            facts.extend(part.short_of());
            if !facts.is_empty() {
                writeln!(out, "{}: {}", of.id, facts.join("; "))?;
            }
        }
        writeln!(out, "policy: {}", policy(&suite.policy, &json!({})))?;
        if !suite.llm.is_empty() {
            writeln!(out, "language models: {}", arguments(&suite.llm))?;
        }
        for role in &suite.roles {
            let count = print::count(role.count, "agent", "agents");
            let filled = match (self.open.contains(&role.name), suite.assigned_roles().get(&role.name)) {
                (false, Some(agents)) => agents.iter().map(|agent| agent.name.clone()).collect::<Vec<_>>().join(", "),
                _ => format!("open: --role {}=AGENT", role.name),
            };
            writeln!(out, "role {}: {count}: {filled}", role.name)?;
        }
        if !suite.variants.is_empty() {
            writeln!(out, "{}", variants(&suite.variants))?;
        }
        if !suite.paraphrases.is_empty() {
            writeln!(out, "{}", variants(&suite.paraphrases).replacen("variants", "paraphrases", 1))?;
        }
        for rubric in &suite.rubrics {
            writeln!(out, "rubric {}: {}: {}", rubric.id, rubric.title, rubric.labels().join(", "))?;
        }
        for summary in &suite.summaries {
            let except =
                if summary.except.is_empty() { String::new() } else { format!(" but {}", summary.except.join(", ")) };
            let groups =
                if summary.groups.is_empty() { String::new() } else { format!(" of {}", summary.groups.join(", ")) };
            let form = word(&summary.form).replace('_', " ");
            writeln!(out, "summary {}: {form} of {} over the parts{groups}{except}", summary.id, summary.metric)?;
        }
        for figure in self.figures() {
            let [id, kind, title] = ["id", "kind", "title"].map(|field| plain(&figure[field]));
            writeln!(out, "figure {id}: {kind}: {title}")?;
        }
        Ok(())
    }
}

/// Formats the fields of a policy that differ from `other`.
fn policy(own: &MatchPolicy, other: &impl serde::Serialize) -> String {
    let (own, other) = (json!(own), json!(other));
    let fields = own.as_object().into_iter().flatten().filter(|(name, value)| other[name.as_str()] != **value);
    fields.map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
}

fn variants(all: &[Variant]) -> String {
    let one = |variant: &Variant| {
        let parts = if variant.parts.is_empty() { String::new() } else { format!(" in {}", variant.parts.join(", ")) };
        let llm = if variant.llm.is_empty() { String::new() } else { format!(" ({})", arguments(&variant.llm)) };
        format!("{}{llm}{parts}", variant.name)
    };
    format!("variants: {}", all.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn arguments(llm: &impl serde::Serialize) -> String {
    let all = json!(llm);
    all.as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", plain(value)))
        .collect::<Vec<_>>()
        .join(" ")
}

fn comma_list(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

/// Returns the word that stands for a value in suite files.
fn word(value: &impl serde::Serialize) -> String {
    plain(&json!(value))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
