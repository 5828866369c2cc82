//! `ludex join`: an agent of this program as a client of a server.

mod run;

use std::collections::BTreeMap;

use anyhow::Context as _;
use ludex_agents::{AgentClass, AgentSpec, llm};
use ludex_client::{Client, MatchResult, Options, Player};
use ludex_protocol::message::{AgentId, Enrol, Join};
use ludex_protocol::record::{Clock, Outcome};
use ludex_protocol::spec::Params;
use serde_json::{Value, json};

use super::seats;
use ludex_play::remote_agent::RemoteAgent;
use ludex_protocol::is_agent_name;
use ludex_server::auth::random_bytes;

/// What `ludex join` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The server, e.g. ws://127.0.0.1:7878
    url: String,
    /// The game: connect_four or "breakthrough(rows=8,columns=3)"
    #[arg(long, required_unless_present_any = ["ticket", "run"])]
    game: Option<String>,
    /// A suite of the server: the agent plays it as the run --run
    #[arg(long, value_name = "NAME", requires = "run", conflicts_with_all = ["game", "ticket"])]
    suite: Option<String>,
    /// Name of the run: small letters, digits, _ and -; the same command again continues it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["game", "ticket"])]
    run: Option<String>,
    /// Play this share of the suite, but at least one block of each pairing
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "suite")]
    scale: f64,
    /// Play only this part of the suite; may be repeated
    #[arg(long, value_name = "PART", requires = "suite")]
    only: Vec<String>,
    /// Fill a role of the suite with an agent of the server; repeat it for a role of several agents
    #[arg(long = "role", value_name = "ROLE=AGENT", requires = "suite")]
    roles: Vec<String>,
    /// How many agents the run is for; it begins when they have all enrolled
    #[arg(long, value_name = "N", default_value_t = 1, requires = "suite")]
    candidates: u32,
    /// End the run for good instead of playing it
    #[arg(long, requires = "run", conflicts_with = "suite")]
    withdraw: bool,
    /// The agent: random, "mcts sims=500", human, ...
    #[arg(long)]
    agent: String,
    /// The name that it plays under [default: made from the agent]
    #[arg(long)]
    name: Option<String>,
    /// The seat, by its name or counted from 0: white, or 1 in chess [default: each seat in turn]
    #[arg(long)]
    seat: Option<String>,
    /// An agent of the server for the other seats: one for all, or one per seat, in order [default: other clients in the queue]
    #[arg(long, value_name = "AGENT")]
    against: Vec<String>,
    /// Name of a queue; clients in the same queue meet
    #[arg(long, conflicts_with = "against")]
    queue: Option<String>,
    /// Total number of matches; 0: until you stop it [default: 1, with a ticket 0]
    #[arg(long)]
    count: Option<u32>,
    /// Matches at a time
    #[arg(long, default_value_t = 1)]
    slots: u32,
    /// Milliseconds for each move; 0: no clock [default: 10000, for a person 0]
    #[arg(long)]
    move_ms: Option<u64>,
    /// Play rated matches
    #[arg(long)]
    rated: bool,
    /// Whether matches come in pairs on one seed with the seats swapped [default: as the server does it]
    #[arg(long, value_name = "true|false")]
    pairs: Option<bool>,
    /// The token for the server [default: the environment variable LUDEX_TOKEN]
    #[arg(long)]
    token: Option<String>,
    /// File of certificates (PEM) to trust, for a server with one of its own [default: SSL_CERT_FILE, and the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<std::path::PathBuf>,
    /// A tournament's ticket
    #[arg(long)]
    ticket: Option<String>,
    /// First take over the seats that this name still holds on the server
    #[arg(long)]
    reclaim: bool,
    /// Seed of the agent; the first match is played with seed=SEED, the next one with SEED+1 [default: a random one]
    #[arg(long)]
    seed: Option<u64>,
    /// Print one JSON document at the end, and nothing else
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let spec = AgentSpec::parse(&args.agent)?;
    anyhow::ensure!(
        !(args.json && spec.class() == AgentClass::Person),
        "a person plays at the terminal, so leave out --json"
    );
    anyhow::ensure!(
        !llm::uses_batching(&spec),
        "matches on a server have clocks, and the answers of batches take hours: leave out batch=true"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(join(&args, spec));
    // A person who was asked for a move may never answer.
    runtime.shutdown_background();
    let Some(played) = done? else { return Ok(()) };
    let results = Results::of(&played);
    if args.json {
        println!("{}", results.document(&played));
    } else {
        println!("{results}");
    }
    Ok(())
}

/// Plays; the matches of a join, nothing of a run.
async fn join(args: &Args, spec: AgentSpec) -> anyhow::Result<Option<Vec<MatchResult>>> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => name_of(&spec),
    };
    anyhow::ensure!(
        is_agent_name(&name),
        "--name {name:?} is not a valid agent name: use 1 to 40 characters of A-Za-z0-9._-"
    );
    let seed = match args.seed {
        Some(seed) => seed,
        None => u64::from_le_bytes(random_bytes::<8>().context("the system cannot provide random numbers")?),
    };
    let person = spec.class() == AgentClass::Person;
    let quiet = args.json || args.run.is_some();
    let agent = RemoteAgent::new(
        spec,
        seed,
        Box::new(move |played| {
            if !quiet {
                println!("{}", line(played));
            }
        }),
    )?;
    let kind = Some(agent.kind());
    let options = Options {
        token: args.token.clone().or_else(super::token_of_environment),
        agent: Some(AgentId { name, version: Some(env!("CARGO_PKG_VERSION").into()), kind }),
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
        slots: args.slots,
        count: args.count.unwrap_or(u32::from(args.ticket.is_none())),
        rated: args.rated,
        pairs: args.pairs,
        ticket: args.ticket.clone(),
        ..Join::new(game)
    };
    if let Some(queue) = &args.queue {
        request.queue.clone_from(queue);
    }
    match args.move_ms {
        Some(0) => request.clock = Clock::default(),
        Some(ms) => request.clock = Clock::per_move(ms),
        None if person && !args.against.is_empty() => request.clock = Clock::default(),
        None => {}
    }
    if let Some(name) = &args.run {
        if args.withdraw {
            let (client, _) = Client::connect(&args.url, options).await?;
            client.withdraw(name).await?;
            println!("{name} is withdrawn");
            client.close().await;
            return Ok(None);
        }
        let enrol = Enrol {
            scale: args.scale,
            slots: args.slots,
            only: args.only.clone(),
            roles: roles(&args.roles)?,
            candidates: args.candidates,
            ..Enrol::new(args.suite.clone().unwrap_or_default(), name)
        };
        match run::play(&args.url, options, enrol, agent.skipping_forced(), stop()).await? {
            Some(over) => run::show(&args.url, &over, args.json)?,
            None => eprintln!("ludex: {name} is not over; the same command continues it"),
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

/// Agents by role, from texts such as `reference=random`.
fn roles(given: &[String]) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in given {
        let (role, agent) =
            text.split_once('=').with_context(|| format!("--role {text:?} is not written as ROLE=AGENT"))?;
        out.entry(role.trim().to_owned()).or_default().push(agent.trim().to_owned());
    }
    Ok(out)
}

/// Resolves on Ctrl-C. A second one ends the program at once.
async fn stop() {
    // On a system without signals, this never resolves.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    eprintln!("finishing the running matches; press Ctrl-C again to stop at once");
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(1);
        }
    });
}

/// The seat that was given by its number or its name. Only the server knows the names of all of its games.
async fn seat(client: &Client, game: &str, text: &str) -> anyhow::Result<u32> {
    if let Ok(seat) = text.parse() {
        return Ok(seat);
    }
    let spec = client.describe(game, Params::new(), false).await?;
    let seat = seats::position(&spec.seats, text);
    let seat = seat.with_context(|| format!("the seats of {} are {}", spec.game, spec.seats.join(", ")))?;
    Ok(seat as u32)
}

/// `mcts sims=500` plays as `mcts-sims-500`.
fn name_of(spec: &AgentSpec) -> String {
    let text = spec.to_string();
    let mapped = text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' });
    mapped.take(40).collect()
}

fn outcome(played: &MatchResult) -> Option<Outcome> {
    played.end.as_ref()?.outcome.get(played.start.seat? as usize).copied()
}

/// One match in a line.
fn line(played: &MatchResult) -> String {
    let start = &played.start;
    let seat = start.seat.unwrap_or(0);
    let head = format!("{} {} seat {seat}", start.match_id, start.game);
    match &played.end {
        None => format!("{head}: the server no longer knows it"),
        Some(end) => {
            let how = match outcome(played) {
                Some(Outcome::Win) => "won",
                Some(Outcome::Loss) => "lost",
                Some(Outcome::Draw) => "drawn",
                Some(Outcome::None) | None => "over",
            };
            let reason = serde_json::to_value(end.reason).unwrap_or_default();
            let fault = end.at_fault.map(|seat| format!(", seat {seat} is to blame")).unwrap_or_default();
            let own = played.own_return().unwrap_or(0.0);
            format!("{head}: {how}, return {own} ({}{fault})", reason.as_str().unwrap_or_default())
        }
    }
}

/// The results of the matches.
struct Results {
    matches: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    mean_return: Option<f64>,
}

impl Results {
    fn of(played: &[MatchResult]) -> Self {
        let count = |which| played.iter().filter(|played| outcome(played) == Some(which)).count();
        let returns: Vec<f64> = played.iter().filter_map(MatchResult::own_return).collect();
        Results {
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

impl std::fmt::Display for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Results { matches, wins, draws, losses, mean_return } = self;
        write!(f, "{matches} {}", if *matches == 1 { "match" } else { "matches" })?;
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
    fn names_are_made_from_specs() {
        for (spec, name) in [("random", "random"), ("mcts sims=500", "mcts-sims-500")] {
            let name_made = name_of(&AgentSpec::parse(spec).unwrap());
            assert_eq!(name_made, name);
            assert!(is_agent_name(&name_made));
        }
    }
}
