//! Report of one run or of several runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use ludex_agents::{AgentClass, AgentSpec, llm};
use ludex_env::{Viewer, recording};
use ludex_protocol::record::{AgentKind, Record, RecordEvent, RecordParts};
use ludex_referee::metric::{LABELS, Metric, SCORE_RATE};
use ludex_referee::rating::table::Interval;
use ludex_referee::read::{RejectedRecord, raw_lines};
use ludex_referee::result::{MULTI_SEAT, SeatResult, is_own};
use ludex_referee::rows::Rows;
use ludex_referee::suite::figure::Figure;
use ludex_referee::suite::plan::{MatchScore, Plan, Results};
use ludex_referee::suite::summary::Summary;
use ludex_referee::suite::variants::Paraphrase;
use ludex_referee::{VerifiedRecord, Verifier};
use ludex_report::Report;
use ludex_report::ReportAbout;
use ludex_report::compare::{ComparedMatch, compare};
use ludex_report::display::count;
use ludex_report::figure::RenderedFigure;
use ludex_report::figure::data::{Strip, StripPicture};
use ludex_report::figure::resolve::FigureSource as FigureGround;
use ludex_report::labels;
use ludex_report::report::about::{
    HeadAgent, HeadCost, HeadMatch, HeadMean, HeadPerson, HeadResult, HeadSummary, RunHead,
};
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle::{Files, PAGE, REPORT};
use ludex_report::runs::describe;
use ludex_report::runs::episode::{episode_of, key_of};
use ludex_report::runs::metric_rows::{join, table};
use ludex_report::runs::plan_progress::PlanProgress;
use ludex_report::runs::results;
use ludex_report::runs::run_files::{EPISODES, LabelLine};
use ludex_report::runs::settings::{RunAgent, RunSeeds};
use ludex_report::runs::summary::SummaryScore;
use ludex_report::runs::summary::{PartResult, notes, rows_on, summaries};
use ludex_report::runs::usage::Usage;
use ludex_report::scale::{AgentLabel, RatingOptions, keys, labels, mark_people};

use super::preflight;
use super::rebuilt_plan::RebuiltPlan;
use super::run_labels::{self, AppliedLabels};
use super::spec_in;

/// Returns a pair for each episode of the run in `folder`: its position in the plan, counted from 1, and true if a
/// rematch replaces the episode. Without a plan, the map is empty. Records are read one by one and without events,
/// since a run may have millions of records.
pub fn order(folder: &Path) -> HashMap<String, (usize, bool)> {
    let Ok(run) = Archive::without_lines(folder) else { return HashMap::new() };
    let (Ok(ground), Ok(file)) = (RebuiltPlan::of(&run), File::open(folder.join(EPISODES))) else {
        return HashMap::new();
    };
    let lines = raw_lines(EPISODES, BufReader::with_capacity(1 << 20, file));
    let records: Vec<Record> = lines.filter_map(|line| without_events(&line.ok()?.text)).collect();
    let walk = ground.walk(&run, &records);
    let episodes = records.into_iter().map(|record| record.header.episode);
    episodes.filter_map(|name| walk.order_of(&run.about.run, &name).map(|place| (name, place))).collect()
}

/// Sets the positions of verified games in the run's plan, if the plan can be rebuilt.
pub fn put_in_order(run: &Archive, games: &mut [VerifiedRecord]) {
    let Ok(ground) = RebuiltPlan::of(run) else { return };
    let records: Vec<Record> = games.iter().map(|game| game.record().clone()).collect();
    ground.walk(run, &records).put_in_order(&run.about.run, games);
}

/// Parses a record without its events.
fn without_events(line: &str) -> Option<Record> {
    let record = match recording::read_line(line, recording::Keep::WithoutNotes) {
        Some(line) => line.record,
        None => RecordParts::parse(line).ok()?.record().ok()?,
    };
    Some(Record { events: Vec::new(), ..record })
}

/// Returns the pages of a run's report, by name, and the refused records. Equal runs give equal pages.
pub fn pages(run: &Archive) -> (Files, Vec<RejectedRecord>) {
    let about = ReportAbout { title: run.about.run.clone(), secret: secret(run), ..ReportAbout::default() };
    let (report, refused) = report(&[run], RatingOptions::default(), about, |_| None);
    let json = format!("{:#}\n", report.to_json());
    let pages = [(REPORT, json), (PAGE, report.to_html())];
    (pages.into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes())).collect(), refused)
}

/// Returns the secret from which a run's seeds are derived, if any.
pub fn secret(run: &Archive) -> Option<String> {
    match &run.about.seeds {
        RunSeeds::Secret(secret) => Some(secret.clone()),
        RunSeeds::Open(_) => None,
    }
}

/// Returns the report of one or several runs, and the refused records.
///
/// `transcripts` returns the name of the folder with the transcripts of a run. Candidates of several runs count as one agent
/// if their names and specs are equal; if only their names are equal, each is named with its spec. The figures are those
/// that the runs' suites define.
pub fn report(
    runs: &[&Archive],
    options: RatingOptions,
    mut about: ReportAbout,
    transcripts: impl Fn(&Archive) -> Option<String>,
) -> (Report, Vec<RejectedRecord>) {
    let mut read: Vec<Read> = runs.iter().map(|run| Read::of(run, BTreeSet::new())).collect();
    let called = name_apart(&mut read);
    let refused: Vec<RejectedRecord> = read.iter().flat_map(|read| read.refused.clone()).collect();
    about.notes.extend(read.iter().filter_map(|read| read.unplanned.clone()));
    for plan in read.iter().filter_map(|read| read.plan.as_ref()) {
        about.notes.extend(notes(plan));
    }
    let games: Vec<&VerifiedRecord> = read.iter().flat_map(|read| &read.games).collect();
    let report = Report::build(&games, refused.clone(), options, about);
    let heads = read.iter().filter_map(|read| read.head(transcripts(read.run))).collect();
    let paired = |part: Option<&str>, agents: [&str; 2]| {
        let own = |name| -> Vec<ComparedMatch> {
            let sides = games.iter().filter(|game| !game.result().replayed && game.reason().counts());
            let sides = sides.map(|game| (game.result().part.as_deref(), game));
            let sides = sides.filter(|(of, _)| part.is_none() || *of == part);
            let Some((name, spec)) = called.get(name) else {
                return sides.filter_map(|(of, game)| ComparedMatch::of(game, of.unwrap_or_default(), name)).collect();
            };
            let own = sides.filter(|(_, game)| keys(game.result()).any(|key| key == (name, spec.as_deref())));
            own.filter_map(|(of, game)| ComparedMatch::of(game, of.unwrap_or_default(), name)).collect()
        };
        let difference = compare(&own(agents[0]), &own(agents[1])).all.score?;
        Some(Interval { value: difference.value, low: difference.low?, high: difference.high? })
    };
    (report.with_runs(heads, figures(&read), &paired), refused)
}

/// Names each candidate with its spec if a candidate of another run has the same name and a different spec, and marks
/// people. Returns the name and the spec of the renamed candidates, by new name.
fn name_apart(read: &mut [Read]) -> BTreeMap<String, (String, Option<String>)> {
    let mut renamed = BTreeMap::new();
    let games = || read.iter().flat_map(|read| &read.games).map(VerifiedRecord::result);
    let mut names = labels(games());
    if read.len() < 2 {
        names.iter_mut().for_each(|(key, label)| key.0.clone_into(label));
    }
    mark_people(&mut names, games());
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for (at, run) in read.iter().enumerate() {
        let Some(plan) = &run.plan else { continue };
        let mut known: BTreeMap<usize, BTreeSet<AgentLabel>> = BTreeMap::new();
        for game in &run.games {
            let place = run.walk.of_episode(&run.run.about.run, &game.record().header.episode);
            for (key, &who) in keys(game.result()).zip(place.iter().flat_map(|place| &place.seats)) {
                known.entry(who).or_default().insert(key);
            }
        }
        for (who, specs) in known {
            // An agent with several specs in one run keeps its name.
            let key = specs.first().filter(|_| specs.len() == 1);
            let (Some(key), Some(entrant)) = (key, plan.agents.get(who)) else { continue };
            if entrant.candidate && entrant.name == key.0 && names[key] != key.0 {
                renamed.insert(names[key].clone(), (key.0.to_owned(), key.1.map(str::to_owned)));
                found.push((at, who, names[key].clone()));
            }
        }
    }
    for (at, who, label) in found {
        if let Some(entrant) = read[at].plan.as_mut().and_then(|plan| plan.agents.get_mut(who)) {
            entrant.name = label;
        }
    }
    renamed
}

/// Returns the name of an agent in the report.
fn label<'a>(plan: &'a Plan, who: usize, agent: &'a RunAgent) -> &'a str {
    plan.agents.get(who).map_or(&agent.name, |entrant| &entrant.name)
}

/// Returns the candidate of which an agent is a variant; `None` for other agents.
fn candidate<'a>(plan: &Plan, who: usize, agents: &'a [RunAgent]) -> Option<&'a RunAgent> {
    agents.get(plan.agents.get(who)?.variant.as_ref()?.candidate)
}

/// Run with verified records and its plan, for reports, metrics and tables.
pub(super) struct Read<'r> {
    pub(super) run: &'r Archive,
    /// Plan of an evaluation; `None` for a tournament.
    pub(super) plan: Option<Plan>,
    /// Reason why this version cannot rebuild the plan, if any.
    pub(super) unplanned: Option<String>,
    done: Results,
    pub(super) walk: PlanProgress,
    pub(super) games: Vec<VerifiedRecord>,
    /// Games that the plan requires, including games that ended by an illegal move.
    pub(super) planned: Vec<VerifiedRecord>,
    pub(super) refused: Vec<RejectedRecord>,
    pub(super) labels: AppliedLabels,
}

impl<'r> Read<'r> {
    /// Verifies the records of a run, with the marks of its suite, further marks, and the labels of its decisions.
    pub(super) fn of(run: &'r Archive, more: BTreeSet<String>) -> Read<'r> {
        let (ground, unplanned) = match RebuiltPlan::of(run) {
            Ok(ground) => (Some(ground), None),
            Err(why) => (None, Some(format!("{}: the matches are rated without a plan: {why:#}", run.about.run))),
        };
        let marks = ground.as_ref().and_then(|ground| ground.plan.as_ref()).map_or_else(BTreeSet::new, Plan::marks);
        let marks = marks.into_iter().chain(more);
        let (mut games, refused) = Verifier::new(ludex_games::builtin()).with_marks(marks).verify_all(&run.found);
        let name = &run.about.run;
        // Without a plan, games are in the order in which they ended.
        let Some(ground) = ground else {
            let (done, walk) = (Results::new(), PlanProgress::default());
            let (planned, labels) = (Vec::new(), AppliedLabels::default());
            return Read { run, plan: None, unplanned, done, walk, games, planned, refused, labels };
        };
        let records: Vec<Record> = games.iter().map(|game| game.record().clone()).collect();
        let walk = ground.walk(run, &records);
        walk.put_in_order(name, &mut games);
        let (done, _) = results(name, &*ground.schedule, &records);
        let counts = |game: &&VerifiedRecord| {
            let key = key_of(name, &game.record().header.episode).map(|(key, _)| key);
            let done = key.and_then(|key| done.get(key));
            matches!(done, Some(MatchScore::Points(_) | MatchScore::Invalid)) && game.reason().counts()
        };
        let mut planned: Vec<VerifiedRecord> = games.iter().filter(counts).cloned().collect();
        let labels = run_labels::add(run, ground.plan.as_ref(), &walk, &mut planned);
        let refused = [refused, labels.faults.clone()].concat();
        Read { run, plan: ground.plan, unplanned, done, walk, games, planned, refused, labels }
    }

    /// Returns the evaluated agents with their settings, results and cost; `None` for a tournament.
    fn head(&self, transcripts: Option<String>) -> Option<RunHead> {
        let (about, plan) = (&self.run.about, self.plan.as_ref()?);
        let results = rows_on(&[], &about.run, plan, &self.done, &self.walk, &self.planned);
        let (costs, turns, people) = (self.costs(), self.turns(), self.people());
        let candidates = about.agents.iter().enumerate().filter(|(_, agent)| agent.candidate);
        let agent = |(at, agent): (usize, &RunAgent)| HeadAgent {
            name: label(plan, at, agent).to_owned(),
            own_name: candidate(plan, at, &about.agents).unwrap_or(agent).name.clone(),
            spec: AgentSpec::parse(&agent.spec)
                .map_or_else(|_| agent.spec.clone(), |spec| llm::without_transport_args(&spec).to_string()),
            model: model(plan, at, &agent.spec),
            record_name: agent.name.clone(),
            wording: wording(plan, at),
            matches: turns.get(&at).map_or(0, |turns| turns.0),
            seconds: turns.get(&at).map_or(0.0, |turns| turns.1 / 1e3),
            person: people.get(&at).cloned().map(HeadPerson::of),
            cost: costs.get(&at).map(|usage| HeadCost {
                calls: usage.calls,
                tokens_in: usage.tokens_in,
                tokens_out: usage.tokens_out,
                usd: usage.usd,
                unpriced: usage.unpriced,
                hours: usage.seconds / 3600.0,
            }),
            results: results.iter().filter(|row| row.agent == label(plan, at, agent)).map(result).collect(),
        };
        let share = about.shard.map(|shard| format!("shard {shard}")).into_iter();
        let scale = (about.scale != 1.0).then(|| format!("numbers of blocks multiplied by {}", about.scale));
        let only =
            (!about.only.is_empty() && about.left_out.is_empty()).then(|| format!("only {}", about.only.join(", ")));
        let left_out = about.left_out.iter().map(|(part, why)| format!("without {part} ({why})"));
        let varied = about.variants.is_some() && plan.agents.iter().any(|agent| agent.variant.is_some());
        let varied = varied.then(|| "variants of an agent played different deals".to_owned());
        let seats = |game: &&VerifiedRecord| game.record().header.flags.iter().any(|flag| flag == MULTI_SEAT);
        let seats = self.games.iter().filter(seats).count();
        let seats =
            (seats > 0).then(|| format!("one client had several seats in {}", count(seats, "match", "matches")));
        let away = self.games.iter().map(|game| game.record().footer.away_ms.iter().sum::<u64>());
        let away: Vec<u64> = away.filter(|&ms| ms > 0).collect();
        let seconds = away.iter().sum::<u64>().div_ceil(1_000);
        let matches = count(away.len(), "match", "matches");
        let away = (!away.is_empty()).then(|| format!("clients were away for {seconds} s in {matches}"));
        let facts = share.chain(scale).chain(only).chain(left_out).chain(varied).chain(seats).chain(away);
        Some(RunHead {
            run: about.run.clone(),
            folder: about.folder(),
            program: about.ludex.clone(),
            begun: about.begun.clone(),
            suite: about.suite.name.clone(),
            title: plan.suite.title.clone(),
            version: about.suite.version,
            digest: about.suite.digest.clone(),
            ratings: plan.suite.ratings,
            seeds: describe::seeds(about),
            share: facts.collect::<Vec<_>>().join("; "),
            agents: candidates.map(agent).collect(),
            summaries: head_summaries(plan, &results),
            transcripts,
            matches: self.matches(plan),
        })
    }

    /// Returns the usage of language model calls, by agent index in the run.
    fn costs(&self) -> HashMap<usize, Usage> {
        let mut out: HashMap<usize, Usage> = HashMap::new();
        let ended = self.run.found.iter().map(|found| episode_of(&found.parts));
        let episodes: BTreeSet<&str> = self.run.calls.keys().map(String::as_str).chain(ended).collect();
        for episode in episodes {
            let Some(place) = self.walk.of_episode(&self.run.about.run, episode) else { continue };
            for line in self.run.calls_of(episode) {
                if let Some(&who) = place.seats.get(line.seat) {
                    out.entry(who).or_default().add(&line.call);
                }
            }
        }
        out
    }

    /// Returns the number of matches and the milliseconds of the turns, by agent index in the run.
    fn turns(&self) -> HashMap<usize, (u64, f64)> {
        let mut out: HashMap<usize, (u64, f64)> = HashMap::new();
        for game in &self.games {
            let place = self.walk.of_episode(&self.run.about.run, &game.record().header.episode);
            for (&who, seat) in place.into_iter().flat_map(|place| &place.seats).zip(&game.result().seats) {
                let sum = out.entry(who).or_default();
                sum.0 += 1;
                sum.1 += seat.times.sum();
            }
        }
        out
    }

    /// Returns the times in milliseconds of the moves that people chose, by agent index in the run.
    fn people(&self) -> HashMap<usize, Vec<u64>> {
        let mut out: HashMap<usize, Vec<u64>> = HashMap::new();
        for game in &self.games {
            let place = self.walk.of_episode(&self.run.about.run, &game.record().header.episode);
            let seats = place.into_iter().flat_map(|place| &place.seats).zip(&game.result().seats).enumerate();
            for (seat, (&who, _)) in seats.filter(|(_, (_, result))| result.kind == AgentKind::Human) {
                let times = out.entry(who).or_default();
                times.extend(game.record().events.iter().filter_map(|event| match event {
                    RecordEvent::Move(m) if m.seat as usize == seat && is_own(m) => Some(m.ms),
                    _ => None,
                }));
            }
        }
        out
    }

    /// Returns the matches in plan order.
    fn matches(&self, plan: &Plan) -> Vec<HeadMatch> {
        let mut games: Vec<&VerifiedRecord> = self.games.iter().collect();
        games.sort_by_key(|game| game.result().order);
        let link = |game: &VerifiedRecord| {
            let episode = &game.record().header.episode;
            let planned = self.walk.of_episode(&self.run.about.run, episode)?;
            let part = plan.parts[planned.part].part.id.clone();
            Some(HeadMatch { part, episode: episode.clone(), what: who(plan, game, &planned.seats) })
        };
        games.into_iter().filter_map(link).collect()
    }
}

/// Returns the name of an agent without its wording, and the wording; `None` without paraphrases.
fn wording(plan: &Plan, who: usize) -> Option<[String; 2]> {
    let variant = plan.agents.get(who)?.variant.as_ref()?;
    let Paraphrase { variant: own, wording } = variant.paraphrase.as_ref()?;
    let candidate = &plan.agents[variant.candidate].name;
    let name = if own.is_empty() { candidate.clone() } else { format!("{candidate} / {own}") };
    Some([name, wording.clone()])
}

/// Formats the agents of a match in seat order, each with its payoff.
fn who(plan: &Plan, game: &VerifiedRecord, seats: &[usize]) -> String {
    let seat = |(seat, who): (&SeatResult, &usize)| {
        let name = plan.agents.get(*who).map_or(seat.name.as_str(), |agent| agent.name.as_str());
        seat.payoff.map_or_else(|| name.to_owned(), |payoff| format!("{name} {payoff}"))
    };
    let seats: Vec<String> = game.result().seats.iter().zip(seats).map(seat).collect();
    seats.join(" \u{2013} ")
}

/// Returns facts about a language model, each with a label: model, endpoint, prompting methods in the plan, and the
/// arguments of a variant. For other agents, the list is empty.
fn model(plan: &Plan, who: usize, spec: &str) -> Vec<(String, String)> {
    let Ok(spec) = AgentSpec::parse(spec) else { return Vec::new() };
    if spec.class() != AgentClass::Model {
        return Vec::new();
    }
    let facts = [("Model", "model"), ("Endpoint", "base_url")];
    let mut out: Vec<(String, String)> =
        facts.into_iter().filter_map(|(title, name)| Some((title.to_owned(), spec.text(name)?))).collect();
    let own = plan.parts.iter().enumerate().filter(|(_, part)| part.candidates.contains(&who));
    let ways = own.filter_map(|(part, _)| spec_in(plan, part, who).ok()?.text("prompting"));
    let ways: BTreeSet<String> = ways.collect();
    out.push(("Prompting".to_owned(), ways.into_iter().collect::<Vec<_>>().join(", ")));
    if let Some(variant) = plan.agents.get(who).and_then(|agent| agent.variant.as_ref()) {
        let own = variant.llm.iter().map(|(name, value)| format!("{name}={}", preflight::text(value)));
        let own: Vec<String> = own.collect();
        out.push(("Variant".to_owned(), if own.is_empty() { variant.name.clone() } else { own.join(" ") }));
    }
    out
}

fn result(row: &PartResult) -> HeadResult {
    HeadResult {
        part: row.part.clone(),
        tally: row.tally,
        score: row.score,
        level: row.level.as_ref().map(|level| level.level),
        topped: row.level.as_ref().is_some_and(|level| level.topped),
        lost_by_answers: row.lost_by_answers,
        discarded: row.discarded + row.invalid,
    }
}

/// Returns the summary scores that the suite defines as means over parts.
fn head_summaries(plan: &Plan, results: &[PartResult]) -> Vec<HeadSummary> {
    let scores = summaries(plan, results);
    let one = |summary: &Summary| {
        let metric = Metric::find(summary.metric_id()).ok();
        let of = scores.iter().filter(|score| score.summary == summary.id);
        let mean = |of: &SummaryScore| HeadMean { agent: of.agent.clone(), parts: of.parts, value: of.value };
        let alike = plan.suite.summaries.iter().filter(|other| other.metric_id() == summary.metric_id()).count();
        let title = metric.map_or(summary.id.as_str(), |metric| metric.title);
        let own = (alike > 1 && summary.id != summary.metric_id()).then(|| summary.id.replace('_', " "));
        let only = Some(summary.select.to_text()).filter(|text| !text.is_empty()).map(|text| format!("only {text}"));
        let more: Vec<String> = own.into_iter().chain(only).collect();
        HeadSummary {
            title: if more.is_empty() { title.to_owned() } else { format!("{title} ({})", more.join("; ")) },
            summary: summary.id.clone(),
            digits: metric.map_or(SCORE_RATE.digits, |metric| metric.digits),
            opponents: summary.select.opponent.clone(),
            scores: of.map(mean).collect(),
        }
    };
    plan.suite.summaries.iter().map(one).collect()
}

/// Number of matches per part that are illustrated with pictures.
const STRIPS: usize = 2;
/// Number of pictures per illustrated match.
const STRIP: usize = 8;

/// Returns the figures of the suites. Each figure shows all runs of its suite.
fn figures(read: &[Read]) -> Vec<RenderedFigure> {
    let mut out: Vec<RenderedFigure> = Vec::new();
    let mut seen = BTreeSet::new();
    for first in read {
        let (digest, Some(plan)) = (&first.run.about.suite.digest, &first.plan) else { continue };
        if plan.suite.figures.is_empty() || !seen.insert(digest) {
            continue;
        }
        let same = || read.iter().filter(|other| other.run.about.suite.digest == *digest);
        let tables = same().filter_map(|other| {
            let plan = other.plan.as_ref()?;
            Some(table(&other.run.about.run, plan, &other.walk, &other.planned))
        });
        let (rows, groups) = (Rows::new(join(tables)), plan.suite.groups());
        let strips = |part: &str| strips(first, plan, part);
        let ground = FigureGround { rows: &rows, groups: &groups, pictures: &strips };
        for figure in &plan.suite.figures {
            let mut drawn = RenderedFigure::of(figure, &ground);
            let notes = label_notes(figure, plan, &same().collect::<Vec<_>>());
            let texts = std::iter::once(drawn.caption).chain(notes).filter(|text| !text.is_empty());
            drawn.caption = texts.collect::<Vec<_>>().join(" ");
            drawn.headline = plan.suite.headline.as_ref() == Some(&figure.id);
            // Two suites may have figures with equal names.
            if out.iter().any(|other| other.id == drawn.id) {
                drawn.id = format!("{}-{}", plan.suite.name, drawn.id);
            }
            out.push(drawn);
        }
    }
    out
}

/// Returns a note for each rubric whose labels the figure shows: the labelers in these runs, or how to add labels.
fn label_notes(figure: &Figure, plan: &Plan, read: &[&Read]) -> Vec<String> {
    let asks = figure.wishes().map(|wish| &wish.ask).filter(|ask| ask.id == LABELS.id);
    let ids: BTreeSet<&str> = asks.filter_map(|ask| ask.args.get("rubric")?.as_str()).collect();
    let lines: Vec<&LabelLine> = read.iter().flat_map(|read| &read.labels.lines).collect();
    let runs: Vec<String> = read.iter().map(|read| read.run.about.folder()).collect();
    let rubrics = plan.suite.rubrics.iter().filter(|rubric| ids.contains(rubric.id.as_str()));
    rubrics.map(|rubric| labels::note(rubric, &lines, runs.first().map_or("RUN", String::as_str))).collect()
}

/// Returns a strip of pictures for each of the first finished matches of a part.
fn strips(read: &Read, plan: &Plan, part: &str) -> Vec<Strip> {
    let place = |game: &VerifiedRecord| read.walk.of_episode(&read.run.about.run, &game.record().header.episode);
    let of_part = |game: &&VerifiedRecord| place(game).is_some_and(|place| plan.parts[place.part].part.id == part);
    let mut games: Vec<&VerifiedRecord> = read.planned.iter().filter(of_part).collect();
    games.sort_by_key(|game| game.result().order);
    let strip = |game: &VerifiedRecord| Strip {
        name: place(game).map(|place| who(plan, game, &place.seats)).unwrap_or_default(),
        pictures: pictures(game),
    };
    games.into_iter().take(STRIPS).map(strip).collect()
}

/// Returns pictures of a match at regular intervals, including the first and the last position.
fn pictures(game: &VerifiedRecord) -> Vec<StripPicture> {
    let mut pictures = Vec::new();
    let mut steps = recording::steps(&**game.game(), game.record());
    // The record was verified, so all steps can be played.
    while let Some(Ok(step)) = steps.next() {
        if step.played {
            let svg = step.picture(Viewer::Public).still().svg;
            pictures.push(StripPicture { svg, caption: format!("move {}", pictures.len() + 1) });
        }
    }
    let last = pictures.len().saturating_sub(1);
    let shown: BTreeSet<usize> = (0..STRIP).map(|k| k * last / (STRIP - 1)).collect();
    pictures.into_iter().enumerate().filter(|(k, _)| shown.contains(k)).map(|(_, picture)| picture).collect()
}
