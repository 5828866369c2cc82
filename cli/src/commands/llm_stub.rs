//! `ludex llm-stub`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use ludex_agents::AgentSpec;
use tokio::net::TcpListener;

use super::serve::stop_signal;
use crate::llm_stub::{self, Batches, Faults, Options};

/// What `ludex llm-stub` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The agent that chooses the moves, if requests include the position (llm with stub=true)
    #[arg(long, value_name = "SPEC", default_value = "random")]
    agent: String,
    /// Answer with documents that fit the schema, where documents are heard; then --malformed damages documents
    #[arg(long, conflicts_with = "agent")]
    documents: bool,
    /// Seed of everything random; the same question gets the same answer
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Least time of an answer, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    latency: u64,
    /// About how many tokens an answer has; reasoning fills them
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    out_tokens: u32,
    /// Probability of an answer whose JSON breaks off; with --documents, of a document with a fault
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    malformed: f64,
    /// Probability of an answer in words, without a move
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    prose: f64,
    /// Probability of an answer without content
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    empty: f64,
    /// Probability of a refusal
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    refuse: f64,
    /// Probability of an answer that is cut off before the move
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    truncate: f64,
    /// Probability of the error 429 (too many requests)
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    rate_limit: f64,
    /// Seconds that a 429 answer asks the client to wait
    #[arg(long, value_name = "S", default_value_t = 1)]
    retry_after: u32,
    /// Probability of the error 500 (internal error)
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    fail: f64,
    /// Stop after this many requests, like an endpoint that goes down
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    down_after: Option<u64>,
    /// Refuse JSON schemas (response_format) and forced tools
    #[arg(long)]
    no_schema: bool,
    /// Refuse questions with more tokens than this
    #[arg(long, value_name = "N")]
    context: Option<u64>,
    /// How long a batch takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    batch_latency: u64,
    /// Probability that a question of a batch fails with the error 500
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    batch_fail: f64,
    /// Probability that a question of a batch is not answered before the batch expires
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    batch_expire: f64,
    /// Most questions that wait in batches; a batch that brings more fails at once
    #[arg(long, value_name = "N")]
    batch_most: Option<usize>,
    /// The API key that requests must have
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Print one JSON document when ready, for programs
    #[arg(long)]
    json: bool,
}

fn probability(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|p| (0.0..=1.0).contains(p)).ok_or_else(|| "write a probability from 0 to 1".to_owned())
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    AgentSpec::parse(&args.agent).context("--agent")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let bound = TcpListener::bind(args.listen).await;
        let listener = bound.with_context(|| format!("cannot listen on {}; try another --listen", args.listen))?;
        let stop = stop_signal()?;
        announce(listener.local_addr()?, args.json)?;
        llm_stub::serve(listener, options(args), stop).await
    })
}

fn options(args: Args) -> Options {
    Options {
        agent: if args.documents { "random documents=1".to_owned() } else { args.agent },
        spoil: if args.documents { args.malformed } else { 0.0 },
        seed: args.seed,
        latency: Duration::from_millis(args.latency),
        out_tokens: args.out_tokens,
        faults: Faults {
            rate_limit: args.rate_limit,
            fail: args.fail,
            malformed: if args.documents { 0.0 } else { args.malformed },
            empty: args.empty,
            refuse: args.refuse,
            truncate: args.truncate,
            prose: args.prose,
        },
        retry_after: args.retry_after,
        down_after: args.down_after,
        schema: !args.no_schema,
        context: args.context,
        key: args.key,
        batches: Batches {
            latency: Duration::from_millis(args.batch_latency),
            fail: args.batch_fail,
            expire: args.batch_expire,
            most: args.batch_most,
        },
    }
}

/// Says where the stand-in is, as a `base_url`.
fn announce(address: SocketAddr, json: bool) -> anyhow::Result<()> {
    let url = format!("http://{address}/v1");
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(
            out,
            "{}",
            serde_json::json!({ "url": url, "pid": std::process::id(), "server": ludex_play::PROGRAM })
        )?;
    } else {
        writeln!(out, "ludex llm-stub answers at {url}")?;
        writeln!(
            out,
            "agents play as --agent says if their spec has base_url={url} stub=true; else their moves are random"
        )?;
    }
    Ok(out.flush()?)
}
