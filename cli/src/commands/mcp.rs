//! `ludex mcp`.

use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Play on this server, e.g. ws://127.0.0.1:7878 [default: a server in this process]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Authenticate with this token [default: LUDEX_TOKEN from the environment]
    #[arg(long, requires = "server")]
    token: Option<String>,
    /// Trust the certificates in this PEM file [default: SSL_CERT_FILE and the system's]
    #[arg(long, value_name = "FILE", requires = "server")]
    ca: Option<PathBuf>,
    /// Play under this agent name [default: mcp in matches]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Use the store in this folder for the server in this process [default: a temporary folder]
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    data: Option<PathBuf>,
}

#[cfg(not(feature = "mcp"))]
pub(super) fn run(_: Args) -> anyhow::Result<()> {
    anyhow::bail!("this program was built without MCP; build it with `cargo build --release --features mcp`")
}

#[cfg(feature = "mcp")]
pub(super) use enabled::run;

#[cfg(feature = "mcp")]
mod enabled {
    use anyhow::Context as _;
    use ludex_client::Options;
    use ludex_client::protocol::is_agent_name;
    use ludex_client::protocol::message::AgentId;
    use ludex_client::protocol::record::AgentKind;
    use ludex_doors::mcp::serve_stdio;
    use ludex_server::config::Config;

    use super::Args;
    use crate::commands::serve::{bind, stop_signal};
    use crate::commands::{environment_token, log_warnings};

    pub(in crate::commands) fn run(args: Args) -> anyhow::Result<()> {
        log_warnings();
        if let Some(name) = &args.name {
            anyhow::ensure!(is_agent_name(name), "--name: expected 1 to 40 characters of A-Za-z0-9._-, got {name:?}");
        }
        let agent = |name| AgentId { name, kind: Some(AgentKind::Llm), ..AgentId::default() };
        let options = Options { agent: args.name.clone().map(agent), ..Options::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = runtime.block_on(async {
            match &args.server {
                Some(url) => {
                    let token = args.token.clone().or_else(environment_token);
                    let options = Options { token, ..options };
                    let options = match &args.ca {
                        Some(file) => options.ca(file)?,
                        None => options,
                    };
                    serve(url, options).await
                }
                None => serve_alone(&args, options).await,
            }
        });
        // Does not wait for the thread that reads standard input.
        runtime.shutdown_background();
        served
    }

    /// Serves the client until standard input ends or a signal arrives.
    async fn serve(url: &str, options: Options) -> anyhow::Result<()> {
        let stop = stop_signal()?;
        tokio::select! {
            served = serve_stdio(url, options) => served.map_err(anyhow::Error::from_boxed),
            () = stop => Ok(()),
        }
    }

    /// Serves the client with a game server of its own.
    async fn serve_alone(args: &Args, options: Options) -> anyhow::Result<()> {
        let temporary = match args.data {
            Some(_) => None,
            None => Some(tempfile::tempdir().context("cannot create a temporary folder")?),
        };
        let folder = temporary.as_ref().map(|folder| folder.path().to_owned());
        let data = args.data.clone().or(folder).unwrap_or_default();
        let listener = bind(([127, 0, 0, 1], 0).into()).await?;
        let address = listener.local_addr()?;
        eprintln!("ludex serves http://{address}");
        let config = Config { doors: crate::doors(), ..Config::new(&data) };
        let url = format!("ws://{address}");
        ludex_server::run_while(listener, config, |_| serve(&url, options)).await
    }
}
