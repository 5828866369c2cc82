//! Tournaments whose entrants connect: on a server of one's own, or on one that runs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum as _;
use ludex_agents::AgentClass;
use ludex_client::{Client, Options};
use ludex_play::agents_file::Agents;
use ludex_play::runs::folder::{RunStatus, path_of};
use ludex_protocol::ClientMessage;
use ludex_protocol::ServerMessage;
use ludex_protocol::message::{Organise, Organised, TournamentEntrant};
use ludex_server::Config;
use ludex_server::matches::Hub;
use tokio::net::TcpListener;

use super::{Args, status};
use crate::commands::print;

/// The tournament as a server is asked for it; `named` are the specs of the agents that it plays itself, by the names that it knows.
fn cup(args: &Args, run: &str, agents: &Agents, named: &mut BTreeMap<String, String>) -> anyhow::Result<Organise> {
    let mut entrants = Vec::new();
    for entry in &agents.entries {
        let spec = entry.spec(&args.data.join("programs"))?;
        let (agent, owner) = if spec.class() == AgentClass::Remote {
            (None, spec.text("owner"))
        } else {
            named.insert(entry.name.clone(), spec.to_string());
            (Some(spec.to_string()), None)
        };
        entrants.push(TournamentEntrant { name: entry.name.clone(), agent, owner });
    }
    Ok(Organise {
        run: run.to_owned(),
        game: args.game.clone(),
        format: args.format.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default(),
        rounds: args.rounds,
        blocks: u32::try_from(args.blocks)?,
        strikes: u32::try_from(args.strikes)?,
        move_ms: args.move_seconds.map(|s| s * 1_000),
        grace_ms: Some(args.grace * 1_000),
        entrants,
    })
}

/// Serves the tournament at `address` until it is over, and prints its table.
pub(super) fn serve(args: &Args, address: SocketAddr, run: &str, agents: &Agents) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("LUDEX_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let mut config = Config::new(&args.data);
    let mut cup = cup(args, run, agents, &mut config.opponents.named)?;
    // The server knows its own agents by their names here, whatever they start.
    cup.entrants.iter_mut().filter(|e| e.agent.is_some()).for_each(|e| e.agent = Some(e.name.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let bound = TcpListener::bind(address).await;
        let listener = bound.with_context(|| format!("cannot listen on {address}; try another --serve"))?;
        let url = format!("ws://{}", listener.local_addr()?);
        let signal = crate::commands::serve::stop_signal()?;
        ludex_server::run_while(listener, config, |hub| async {
            let hub = hub;
            tokio::select! {
                held = hold(&hub, &cup, &url) => held,
                () = signal => Ok(()),
            }
        })
        .await
    })?;
    status(&RunStatus::at(&path_of(&args.data, run))?, args.json)
}

/// Begins or continues the tournament, and waits for its end.
async fn hold(hub: &Arc<Hub>, cup: &Organise, url: &str) -> anyhow::Result<()> {
    match hub.run(&cup.run).await {
        None => tickets(&hub.organise(cup).await?, url),
        Some(_) => eprintln!("ludex: {} continues at {url}", cup.run),
    }
    let bar = print::progress(0, "playing");
    loop {
        let page = hub.run(&cup.run).await.context("the run is gone")?;
        if page["state"] != "open" {
            bar.finish_and_clear();
            return Ok(());
        }
        let count = |key: &str| page[key].as_u64().unwrap_or(0);
        bar.set_length(count("done") + count("due"));
        bar.set_position(count("done"));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Asks a server that runs to hold the tournament.
pub(super) fn ask(args: &Args, url: &str, run: &str, agents: &Agents) -> anyhow::Result<()> {
    let cup = cup(args, run, agents, &mut BTreeMap::new())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let token = args.token.clone().or_else(crate::commands::token_of_environment);
        let options = Options { token, client: ludex_play::PROGRAM.into(), ..Options::default() };
        let (client, _) = Client::connect(url, options).await?;
        let reply = client.request(ClientMessage::Organise(Box::new(cup))).await?;
        client.close().await;
        let ServerMessage::Organised(organised) = reply else {
            anyhow::bail!("the server answered with {}", reply.kind());
        };
        if args.json {
            return Ok(print::json(&serde_json::json!(organised))?);
        }
        tickets(&organised, url);
        let page = url.replacen("ws", "http", 1);
        println!("standings: {}/runs/{run}", page.trim_end_matches('/'));
        Ok(())
    })
}

/// Says how clients come in.
fn tickets(organised: &Organised, url: &str) {
    let run = &organised.run;
    eprintln!(
        "ludex: clients enter with `ludex join {url} --run {run} --name NAME --agent AGENT`, or with their tickets:"
    );
    organised.tickets.iter().for_each(|ticket| eprintln!("{}  {}", ticket.name, ticket.ticket));
}
