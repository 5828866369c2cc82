//! Tournaments whose entrants connect to the server that this command starts.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ludex_agents::AgentClass;
use ludex_arena::runs::{Runs, TournamentEntrant, TournamentRequest, TournamentTicket};
use ludex_play::agents_file::Agents;
use ludex_play::runs::folder::{RunStatus, path_of};
use ludex_server::Config;

use super::{Args, print_status};
use crate::commands::serve::{bind, stop_signal};
use crate::commands::{block_on, log_warnings, print};

/// Returns the request for a tournament. Adds the specs of entrants that run on the server to `named`, by entrant name:
/// the server seats its own agents by name, even if the agents start programs.
fn tournament_request(
    args: &Args,
    run: &str,
    agents: &Agents,
    named: &mut BTreeMap<String, String>,
) -> anyhow::Result<TournamentRequest> {
    let mut entrants = Vec::new();
    for entry in &agents.entries {
        let spec = entry.spec(&args.data.join("programs"))?;
        let (agent, owner) = if spec.class() == AgentClass::Remote {
            (None, spec.text("owner"))
        } else {
            named.insert(entry.name.clone(), spec.to_string());
            (Some(entry.name.clone()), None)
        };
        entrants.push(TournamentEntrant { name: entry.name.clone(), agent, owner });
    }
    Ok(TournamentRequest {
        run: run.to_owned(),
        game: args.game.clone(),
        format: args.format.format(args.rounds, entrants.len())?,
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
    let request = tournament_request(args, run, agents, &mut config.opponents.named)?;
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
async fn play(runs: &Arc<Runs>, request: &TournamentRequest, url: &str) -> anyhow::Result<()> {
    match runs.run(&request.run).await {
        None => print_tickets(&request.run, &runs.organise(request).await?, url),
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

/// Prints instructions for clients that enter the tournament.
fn print_tickets(run: &str, tickets: &[TournamentTicket], url: &str) {
    eprintln!(
        "ludex: clients enter with `ludex join {url} --run {run} --name NAME --agent AGENT`, or with their tickets:"
    );
    tickets.iter().for_each(|ticket| eprintln!("{}  {}", ticket.name, ticket.ticket));
}
