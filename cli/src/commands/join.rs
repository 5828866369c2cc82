//! `ludex join`.

mod run;

use std::collections::BTreeMap;

use anyhow::Context as _;
use ludex_agents::{AgentClass, AgentSpec, llm};
use ludex_client::{Client, MatchResult, Options, Player};
use ludex_protocol::message::{AgentId, Enrol, Join};
use ludex_protocol::record::{Clock, Outcome};
use ludex_protocol::spec::Params;
use serde_json::{Value, json};

use super::{print, seats};
use ludex_play::remote_agent::RemoteAgent;
use ludex_protocol::is_agent_name;
use ludex_server::auth::random_bytes;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Connect to this server, e.g. ws://127.0.0.1:7878
    url: String,
    /// Play this game, e.g. connect_four or "breakthrough(rows=8,columns=3)"
    #[arg(long, required_unless_present = "run")]
    game: Option<String>,
    /// Play this suite of the server as the run --run
    #[arg(long, value_name = "NAME", requires = "run", conflicts_with = "game")]
    suite: Option<String>,
    /// Name the run with a-z, 0-9, _ and -; repeat the command to continue the run
    #[arg(long, value_name = "NAME", conflicts_with = "game")]
    run: Option<String>,
    /// Play this share of the suite, e.g. 0.05, but at least one block of each pairing
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "suite")]
    scale: f64,
    /// Play only this part of the suite; may be repeated [default: all]
    #[arg(long = "part", value_name = "PART", requires = "suite")]
    parts: Vec<String>,
    /// Fill a role of the suite with an agent of the server; repeat for a role with several agents
    #[arg(long = "role", value_name = "ROLE=AGENT", requires = "suite")]
    roles: Vec<String>,
    /// Play the whole suite once for each of these labels, e.g. the settings of an agent to compare; may be repeated
    #[arg(long = "variant", value_name = "LABEL", requires = "suite")]
    variants: Vec<String>,
    /// Start the run once this many agents have enrolled
    #[arg(long, value_name = "N", default_value_t = 1, requires = "suite")]
    candidates: u32,
    /// Play with this agent, e.g. random, "mcts sims=500" or human
    #[arg(long)]
    agent: String,
    /// Play under this agent name [default: derived from --agent]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Take this seat, by name or by number from 0, e.g. white or 1 in chess [default: alternate between seats]
    #[arg(long, value_name = "SEAT")]
    seat: Option<String>,
    /// Play against this agent of the server; give one agent for all other seats, or one per seat in order [default:
    /// other clients]
    #[arg(long, value_name = "AGENT")]
    against: Vec<String>,
    /// Join this queue; clients in the same queue play each other
    #[arg(long, value_name = "NAME", conflicts_with = "against")]
    queue: Option<String>,
    /// Play this many matches; 0: play until stopped
    #[arg(long, value_name = "N", default_value_t = 1)]
    matches: u32,
    /// Play this many matches in parallel
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: u32,
    /// Limit each move to this many seconds; 0: no limit [default: 10, or 0 for a human]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=86_400))]
    move_seconds: Option<u64>,
    /// Play rated matches [default: unrated]
    #[arg(long)]
    rated: bool,
    /// Play matches in pairs with the same seed and swapped seats [default: as set by the server]
    #[arg(long, value_name = "true|false")]
    paired: Option<bool>,
    /// Authenticate with this token [default: LUDEX_TOKEN from the environment]
    #[arg(long)]
    token: Option<String>,
    /// Trust the certificates in this PEM file [default: SSL_CERT_FILE and the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<std::path::PathBuf>,
    /// Take over the seats that the server still reserves for the agent name
    #[arg(long)]
    reclaim: bool,
    /// Set the agent's seed in the first match, which increases by 1 per match [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let spec = AgentSpec::parse(&args.agent)?;
    anyhow::ensure!(!(args.json && spec.class() == AgentClass::Person), "--json: expected an agent other than human");
    anyhow::ensure!(
        !llm::uses_batching(&spec),
        "--agent: expected an agent without batch=true, since matches on a server have clocks"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(join(&args, spec));
    // Does not wait for the thread that asks a human, who may never reply.
    runtime.shutdown_background();
    let Some(played) = result? else { return Ok(()) };
    let results = JoinSummary::of(&played);
    if args.json {
        println!("{}", print::escaped(&results.document(&played).to_string()));
    } else {
        println!("{results}");
    }
    Ok(())
}

/// Joins a server as an agent, for single matches or for a run. Returns the results of single matches; `None` for a run.
async fn join(args: &Args, spec: AgentSpec) -> anyhow::Result<Option<Vec<MatchResult>>> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => name_of(&spec),
    };
    anyhow::ensure!(is_agent_name(&name), "--name: expected 1 to 40 characters of A-Za-z0-9._-, got {name:?}");
    let seed = match args.seed {
        Some(seed) => seed,
        None => u64::from_le_bytes(random_bytes::<8>().context("the system cannot provide random numbers")?),
    };
    let person = spec.class() == AgentClass::Person;
    let quiet = args.json || args.run.is_some();
    let model = llm::model_name(&spec);
    let agent = RemoteAgent::new(
        spec,
        seed,
        Box::new(move |played| {
            if !quiet {
                println!("{}", print::plain(&line(played)));
            }
        }),
    )?;
    let kind = Some(agent.kind());
    let options = Options {
        token: args.token.clone().or_else(super::environment_token),
        agent: Some(AgentId {
            name,
            version: Some(env!("CARGO_PKG_VERSION").into()),
            kind,
            model,
            ..AgentId::default()
        }),
        client: ludex_play::PROGRAM.into(),
        reclaim: args.reclaim,
        ..Options::default()
    };
    let options = match &args.ca {
        Some(file) => options.ca(file)?,
        None => options,
    };
    let game = args.game.clone().unwrap_or_default();
    let mut request = Join {
        against: (!args.against.is_empty()).then(|| args.against.clone()),
        slots: args.jobs,
        count: args.matches,
        rated: args.rated,
        pairs: args.paired,
        ..Join::new(game)
    };
    if let Some(queue) = &args.queue {
        request.queue.clone_from(queue);
    }
    match args.move_seconds {
        Some(0) => request.clock = Clock::default(),
        Some(seconds) => request.clock = Clock::per_move(seconds * 1_000),
        None if person && !args.against.is_empty() => request.clock = Clock::default(),
        None => {}
    }
    if let Some(name) = &args.run {
        let enrol = Enrol {
            scale: args.scale,
            slots: args.jobs,
            only: args.parts.clone(),
            roles: roles(&args.roles)?,
            variants: args.variants.clone(),
            candidates: args.candidates,
            ..Enrol::new(args.suite.clone().unwrap_or_default(), name)
        };
        match run::play(&args.url, options, enrol, agent.skipping_forced(), stop()).await? {
            Some(over) => run::show(&args.url, &over, args.json)?,
            None => eprintln!("ludex: {name} is not over; repeat the command to continue"),
        }
        return Ok(None);
    }
    let (client, events) = Client::connect(&args.url, options).await?;
    if let Some(text) = &args.seat {
        request.seat = Some(seat(&client, &request.game, text).await.with_context(|| format!("--seat {text}"))?);
    }
    let played = Player::new(client.clone(), events, request, agent).run(stop()).await;
    client.close().await;
    Ok(Some(played?))
}

/// Parses role assignments such as `reference=random` into agents by role.
fn roles(given: &[String]) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in given {
        let (role, agent) =
            text.split_once('=').with_context(|| format!("--role: expected ROLE=AGENT, got {text:?}"))?;
        out.entry(role.trim().to_owned()).or_default().push(agent.trim().to_owned());
    }
    Ok(out)
}

/// Resolves on the first Ctrl-C. A second Ctrl-C exits the program.
async fn stop() {
    // On a system without signals, the future never resolves.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    eprintln!("finishing the running matches; press Ctrl-C again to stop immediately");
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(1);
        }
    });
}

/// Parses a seat number or a seat name. Names are looked up on the server, which may offer games that this program does
/// not have.
async fn seat(client: &Client, game: &str, text: &str) -> anyhow::Result<u32> {
    if let Ok(seat) = text.parse() {
        return Ok(seat);
    }
    let spec = client.describe(game, Params::new(), false).await?;
    let seat = seats::position(&spec.seats, text);
    let seat = seat.with_context(|| format!("expected a seat of {}; allowed: {}", spec.game, spec.seats.join(", ")))?;
    Ok(seat as u32)
}

/// Returns the agent name of a spec: `mcts-sims-500` for `mcts sims=500`.
fn name_of(spec: &AgentSpec) -> String {
    let text = spec.to_string();
    let mapped = text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' });
    mapped.take(40).collect()
}

fn outcome(played: &MatchResult) -> Option<Outcome> {
    played.end.as_ref()?.outcome.get(played.start.seat? as usize).copied()
}

/// Describes a match in one line.
fn line(played: &MatchResult) -> String {
    let start = &played.start;
    let seat = start.seat.unwrap_or(0);
    let head = format!("{} {} seat {seat}", start.match_id, start.game);
    match &played.end {
        None => format!("{head}: lost, since the server no longer has the match"),
        Some(end) => {
            let how = match outcome(played) {
                Some(Outcome::Win) => "won",
                Some(Outcome::Loss) => "lost",
                Some(Outcome::Draw) => "drawn",
                Some(Outcome::None) | None => "over",
            };
            let reason = serde_json::to_value(end.reason).unwrap_or_default();
            let fault = end.at_fault.map(|seat| format!(", seat {seat} at fault")).unwrap_or_default();
            let own = played.own_return().unwrap_or(0.0);
            format!("{head}: {how}, return {own} ({}{fault})", reason.as_str().unwrap_or_default())
        }
    }
}

/// Summary of the matches of a join.
struct JoinSummary {
    matches: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    mean_return: Option<f64>,
}

impl JoinSummary {
    fn of(played: &[MatchResult]) -> Self {
        let count = |which| played.iter().filter(|played| outcome(played) == Some(which)).count();
        let returns: Vec<f64> = played.iter().filter_map(MatchResult::own_return).collect();
        JoinSummary {
            matches: played.len(),
            wins: count(Outcome::Win),
            draws: count(Outcome::Draw),
            losses: count(Outcome::Loss),
            mean_return: (!returns.is_empty()).then(|| returns.iter().sum::<f64>() / returns.len() as f64),
        }
    }

    fn document(&self, played: &[MatchResult]) -> Value {
        let one = |played: &MatchResult| {
            let mut entry = json!({
                "match": played.start.match_id,
                "game": played.start.game,
                "params": played.start.params,
                "seat": played.start.seat,
                "seats": played.start.seats,
            });
            if let (Some(entry), Some(end)) = (entry.as_object_mut(), &played.end) {
                entry.insert("returns".into(), json!(end.returns));
                entry.insert("outcome".into(), json!(end.outcome));
                entry.insert("reason".into(), json!(end.reason));
                entry.insert("at_fault".into(), json!(end.at_fault));
                entry.insert("rated".into(), json!(end.rated));
                entry.insert("record".into(), json!(end.record));
            }
            entry
        };
        json!({
            "matches": played.iter().map(one).collect::<Vec<Value>>(),
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "mean_return": self.mean_return,
        })
    }
}

impl std::fmt::Display for JoinSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let JoinSummary { matches, wins, draws, losses, mean_return } = self;
        write!(f, "{}", super::print::count(*matches, "match", "matches"))?;
        if let Some(mean) = mean_return {
            write!(f, ": {wins} won, {draws} drawn, {losses} lost, mean return {mean}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_derived_from_spec_is_a_valid_agent_name() {
        for (spec, name) in [("random", "random"), ("mcts sims=500", "mcts-sims-500")] {
            let derived = name_of(&AgentSpec::parse(spec).unwrap());
            assert_eq!(derived, name);
            assert!(is_agent_name(&derived));
        }
    }
}
