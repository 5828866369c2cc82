//! Tournaments whose entrants connect to a server: to one that this command starts, or to a running one.

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
use ludex_server::runs::Runs;

use super::{Args, print_status};
use crate::commands::serve::{bind, stop_signal};
use crate::commands::{block_on, environment_token, log_warnings, print};

/// Returns the request for a tournament. Adds the specs of entrants that run on the server to `named`, by entrant name.
fn tournament_request(
    args: &Args,
    run: &str,
    agents: &Agents,
    named: &mut BTreeMap<String, String>,
) -> anyhow::Result<Organise> {
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
        strikes: u32::try_from(args.max_failures)?,
        move_ms: args.move_seconds.map(|s| s * 1_000),
        grace_ms: Some(args.absence_timeout * 1_000),
        entrants,
    })
}

/// Serves the tournament at `address` until it ends, and prints the table.
pub(super) fn serve(args: &Args, address: SocketAddr, run: &str, agents: &Agents) -> anyhow::Result<()> {
    log_warnings();
    let mut config = Config::new(&args.data);
    let mut request = tournament_request(args, run, agents, &mut config.opponents.named)?;
    // The server seats its own agents by name, even if the agents start programs.
    request.entrants.iter_mut().filter(|e| e.agent.is_some()).for_each(|e| e.agent = Some(e.name.clone()));
    block_on(async {
        let listener = bind(address).await?;
        let url = format!("ws://{}", listener.local_addr()?);
        let signal = stop_signal()?;
        ludex_server::run_while(listener, config, |runs| async {
            let runs = runs;
            tokio::select! {
                result = play(&runs, &request, &url) => result,
                () = signal => Ok(()),
            }
        })
        .await
    })?;
    print_status(&RunStatus::at(&path_of(&args.data, run))?, args.json)
}

/// Starts or continues the tournament and waits until it ends.
async fn play(runs: &Arc<Runs>, request: &Organise, url: &str) -> anyhow::Result<()> {
    match runs.run(&request.run).await {
        None => print_tickets(&runs.organise(request).await?, url),
        Some(_) => eprintln!("ludex: {} continues at {url}", request.run),
    }
    let bar = print::progress(0, "playing");
    loop {
        let page = runs.run(&request.run).await.context("the run was removed from the server")?;
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

/// Submits the tournament to a running server.
pub(super) fn submit(args: &Args, url: &str, run: &str, agents: &Agents) -> anyhow::Result<()> {
    let request = tournament_request(args, run, agents, &mut BTreeMap::new())?;
    block_on(async {
        let token = args.token.clone().or_else(environment_token);
        let options = Options { token, client: ludex_play::PROGRAM.into(), ..Options::default() };
        let (client, _) = Client::connect(url, options).await?;
        let reply = client.request(ClientMessage::Organise(Box::new(request))).await?;
        client.close().await;
        let ServerMessage::Organised(organised) = reply else {
            anyhow::bail!("expected the reply `organised`, got {}", reply.kind());
        };
        if args.json {
            return Ok(print::json(&serde_json::json!(organised))?);
        }
        print_tickets(&organised, url);
        let page = url.replacen("ws", "http", 1);
        println!("standings: {}/runs/{run}", page.trim_end_matches('/'));
        Ok(())
    })
}

/// Prints instructions for clients that enter the tournament.
fn print_tickets(organised: &Organised, url: &str) {
    let run = print::plain(&organised.run);
    eprintln!(
        "ludex: clients enter with `ludex join {url} --run {run} --name NAME --agent AGENT`, or with their tickets:"
    );
    organised
        .tickets
        .iter()
        .for_each(|ticket| eprintln!("{}", print::plain(&format!("{}  {}", ticket.name, ticket.ticket))));
}
