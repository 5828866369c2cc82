//! Parsed arguments of an `llm` spec.

use std::time::Duration;

use ludex_protocol::Refusal;
use ludex_protocol::error::truncate_text;
use serde_json::{Map, Value};

use crate::refusal::{bad_spec, bad_value};
use crate::spec::{AgentSpec, ArgDef, ArgKind};

const COUNT: ArgKind = ArgKind::Int { min: 1, max: 64 };
const PRICE: ArgKind = ArgKind::Number { min: 0.0, max: 1e6 };

/// Numbers of input tokens read from and written to the endpoint's cache; `None` if the endpoint does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheTokens {
    pub(super) read: Option<u64>,
    pub(super) written: Option<u64>,
}

/// Arguments in canonical order.
pub(super) const ARGS: &[ArgDef] = &[
    ArgDef::new("model", ArgKind::Text, "the model's name at the endpoint").required(),
    ArgDef::new("api", ArgKind::Text, "openai (chat completions, which most servers speak) or anthropic (messages)")
        .default("openai"),
    ArgDef::new(
        "base_url",
        ArgKind::Text,
        "base URL of the endpoint, such as http://127.0.0.1:8000/v1; if absent, the public endpoint of the api",
    ),
    ArgDef::new(
        "key_env",
        ArgKind::Text,
        "environment variable with the API key; if absent, OPENAI_API_KEY or ANTHROPIC_API_KEY, \
         but no key for a base_url on this machine",
    ),
    ArgDef::new("prompting", ArgKind::Text, "prompt, cot, parts, chat, sc_cot, tot or self_refine").default("prompt"),
    ArgDef::new("variant", ArgKind::Int { min: 0, max: 4 }, "variant of the request to reason (cot and sc_cot)")
        .default("0"),
    ArgDef::new("n", COUNT, "number of samples that vote (sc_cot)").default("5"),
    ArgDef::new("width", COUNT, "candidates of each of the two steps (tot)").default("3"),
    ArgDef::new("votes", COUNT, "votes on the candidates of a step (tot)").default("3"),
    ArgDef::new(
        "memory",
        ArgKind::Int { min: 0, max: 10_000 },
        "maximum number of earlier prompts with their replies in the conversation of a match (chat)",
    )
    .default("20"),
    ArgDef::new(
        "effort",
        ArgKind::Text,
        "sent as reasoning_effort; with api=anthropic low, medium or high: a thinking budget of 2048, 8192 or \
         24576 tokens",
    ),
    ArgDef::new("temperature", ArgKind::Number { min: 0.0, max: 2.0 }, "sampling temperature; if absent, the endpoint's default"),
    ArgDef::new(
        "max_tokens",
        ArgKind::Int { min: 1, max: 10_000_000 },
        "maximum output tokens; if absent, the endpoint's default, or with api=anthropic 8192 plus the thinking \
         budget",
    ),
    ArgDef::new("extra", ArgKind::Text, "a JSON object merged into the request body; null removes a field"),
    ArgDef::new("timeout", ArgKind::Number { min: 0.1, max: 86_400.0 }, "time limit of one call in seconds").default("300"),
    ArgDef::new(
        "retries",
        ArgKind::Int { min: 0, max: 100 },
        "maximum retries of a call after a transient failure",
    )
    .default("5"),
    ArgDef::new(
        "rpm",
        ArgKind::Int { min: 0, max: 1_000_000 },
        "maximum calls per minute to this endpoint and model in this process; 0: unlimited",
    )
    .default("0"),
    ArgDef::new(
        "concurrency",
        ArgKind::Int { min: 1, max: 10_000 },
        "maximum concurrent calls to this endpoint and model in this process",
    )
    .default("8"),
    ArgDef::new(
        "batch",
        ArgKind::Flag,
        "send the requests of many matches together through the provider's batch interface: replies arrive within a day, at \
         the provider's batch price",
    )
    .default("false"),
    ArgDef::new(
        "batch_wait",
        ArgKind::Number { min: 0.0, max: 3600.0 },
        "seconds without a request before a batch is submitted",
    )
    .default("5"),
    ArgDef::new("batch_size", ArgKind::Int { min: 1, max: 50_000 }, "maximum requests in a batch")
        .default("10000"),
    ArgDef::new(
        "batch_poll",
        ArgKind::Number { min: 0.01, max: 3600.0 },
        "seconds between status checks of a batch",
    )
    .default("30"),
    ArgDef::new(
        "format",
        ArgKind::Text,
        "reply format: schema (JSON), text (a labeled line), or auto (JSON if the endpoint supports schemas)",
    )
    .default("auto"),
    ArgDef::new(
        "stub",
        ArgKind::Flag,
        "send the position in `metadata`, for `ludex check llm-stub`",
    )
    .default("false"),
    ArgDef::new("price_in", PRICE, "USD per million input tokens"),
    ArgDef::new("price_out", PRICE, "USD per million output tokens"),
    ArgDef::new("price_cached", PRICE, "USD per million input tokens read from the endpoint's cache; if absent, price_in"),
    ArgDef::new("price_cache_write", PRICE, "USD per million input tokens written to the endpoint's cache; if absent, price_in"),
    ArgDef::new(
        "cache",
        ArgKind::Flag,
        "mark shared prompt parts for the endpoint's cache (api=anthropic; all other endpoints cache automatically)",
    )
    .default("false"),
    ArgDef::new("template", ArgKind::Text, "standard, or user: put everything into the user message")
        .default("standard"),
    ArgDef::new("legal", ArgKind::Flag, "list the legal moves").default("true"),
    ArgDef::new("hints", ArgKind::Flag, "add strategy hints, for games that have them").default("false"),
    ArgDef::new("rules", ArgKind::Text, "length of the rules: long, short (summary) or none").default("long"),
    ArgDef::new("swap", ArgKind::Flag, "exchange rows and columns of the board, for games that draw a plain grid")
        .default("false"),
    ArgDef::new(
        "relabel",
        ArgKind::Int { min: 0, max: 1_000_000 },
        "seed of other names for the columns, rows, pieces and seats of the board, for games that draw a plain grid; 0: the \
         usual names",
    )
    .default("0"),
    ArgDef::new("wording", ArgKind::Int { min: 0, max: 3 }, "wording of the prompt's fixed sentences; 0: the usual one").default("0"),
    ArgDef::new("history", ArgKind::Int { min: 0, max: 1_000_000 }, "number of last moves in the prompt").default("0"),
    ArgDef::new("emotion", ArgKind::Flag, "request an emotion, A to E, and a short analysis with the move").default("false"),
];

/// Wire format of the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Api {
    OpenAi,
    Anthropic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Prompt,
    Cot,
    ScCot,
    Tot,
    SelfRefine,
    Parts,
    Chat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    Auto,
    Schema,
    Text,
}

/// Length of the rules in prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RulesShown {
    Long,
    Short,
    None,
}

/// Arguments that affect the prompts.
#[derive(Clone, Debug)]
pub(super) struct Wording {
    pub(super) method: Method,
    pub(super) variant: usize,
    pub(super) system: bool,
    pub(super) legal: bool,
    pub(super) hints: bool,
    pub(super) rules: RulesShown,
    pub(super) swap: bool,
    /// Seed of other names for the board; 0 for the usual names.
    pub(super) relabel: u64,
    /// Number of the wording of the fixed sentences.
    pub(super) phrasing: usize,
    pub(super) history: usize,
    pub(super) emotion: bool,
    /// Maximum number of earlier prompts in a conversation; `None` if prompts do not form a conversation.
    pub(super) memory: Option<usize>,
}

/// Prices in USD per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    /// Price of input tokens.
    pub(super) input: f64,
    /// Price of input tokens read from the endpoint's cache.
    pub(super) cached: f64,
    /// Price of input tokens written to the endpoint's cache.
    pub(super) cache_write: f64,
    /// Price of output tokens.
    pub(super) out: f64,
}

/// Settings of the provider's batch interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Batching {
    /// Time without a new request after which the collected requests are submitted.
    pub(super) wait: Duration,
    /// Maximum number of requests in a batch.
    pub(super) size: usize,
    /// Interval between status calls for a batch.
    pub(super) poll: Duration,
}

/// Parsed arguments of an `llm` spec.
pub(super) struct Settings {
    pub(super) model: String,
    pub(super) api: Api,
    /// Base URL without a trailing slash.
    pub(super) base_url: String,
    /// Name of the environment variable with the API key; `None` if the endpoint needs no key.
    pub(super) key_env: Option<String>,
    pub(super) n: usize,
    pub(super) width: usize,
    pub(super) votes: usize,
    pub(super) effort: Option<String>,
    pub(super) temperature: Option<f64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) extra: Map<String, Value>,
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    pub(super) rpm: u64,
    pub(super) concurrency: usize,
    /// Batch settings; `None` if requests are sent one by one.
    pub(super) batch: Option<Batching>,
    pub(super) format: AnswerFormat,
    pub(super) stub: bool,
    pub(super) price: Option<Price>,
    /// True if prompt parts shared by several requests are marked for the endpoint's cache.
    pub(super) cache: bool,
    pub(super) wording: Wording,
    pub(super) seed: Option<u64>,
}

impl Settings {
    /// Parses the arguments of a spec.
    ///
    /// # Errors
    /// An invalid value, or conflicting arguments.
    pub(super) fn read(spec: &AgentSpec) -> Result<Self, Refusal> {
        let api = one_of(spec, "api", &[("openai", Api::OpenAi), ("anthropic", Api::Anthropic)])?;
        let base_url = base_url(spec, api)?;
        let key_env = spec.text("key_env").or_else(|| {
            let usual = match api {
                Api::OpenAi => "OPENAI_API_KEY",
                Api::Anthropic => "ANTHROPIC_API_KEY",
            };
            (!is_local(&base_url)).then(|| usual.to_owned())
        });
        let format = one_of(
            spec,
            "format",
            &[("auto", AnswerFormat::Auto), ("schema", AnswerFormat::Schema), ("text", AnswerFormat::Text)],
        )?;
        let effort = spec.text("effort");
        if let (Api::Anthropic, Some(effort)) = (api, &effort) {
            if thinking_budget(effort).is_none() {
                return Err(bad_value("effort", effort, "low, medium or high with api=anthropic"));
            }
            if format == AnswerFormat::Schema {
                let allowed = "text, since api=anthropic does not support forced tool calls with effort";
                return Err(bad_value("format", "schema", allowed));
            }
        }
        Ok(Settings {
            model: spec.text("model").unwrap_or_default(),
            api,
            base_url,
            key_env,
            n: size(spec, "n"),
            width: size(spec, "width"),
            votes: size(spec, "votes"),
            effort,
            temperature: spec.number("temperature"),
            max_tokens: spec.int("max_tokens"),
            extra: extra(spec)?,
            timeout: Duration::from_secs_f64(spec.number("timeout").unwrap_or(300.0)),
            retries: size(spec, "retries") as u32,
            rpm: spec.int("rpm").unwrap_or(0),
            concurrency: size(spec, "concurrency"),
            batch: batching(spec)?,
            format,
            stub: spec.flag("stub"),
            price: price(spec)?,
            cache: cache(spec, api)?,
            wording: wording(spec)?,
            seed: spec.int("seed"),
        })
    }

    /// Reads the API key from the environment, if one is needed.
    ///
    /// # Errors
    /// A variable that is unset or empty.
    pub(super) fn key(&self) -> Result<Option<String>, Refusal> {
        let Some(name) = &self.key_env else { return Ok(None) };
        match std::env::var(name) {
            Ok(key) if !key.trim().is_empty() => Ok(Some(key.trim().to_owned())),
            _ => {
                let message = format!(
                    "missing key for {}: set the environment variable {name}, or select another with key_env",
                    self.base_url
                );
                Err(bad_spec(message).path("key_env").got(truncate_text(name)))
            }
        }
    }

    /// Returns the cost in USD of `read` input tokens and `written` output tokens; `None` if prices are unknown.
    /// `cache` counts the input tokens that have cache prices.
    pub(super) fn usd(&self, read: u64, cache: CacheTokens, written: u64) -> Option<f64> {
        let Price { input, cached, cache_write, out } = self.price?;
        let [hit, put] = [cache.read, cache.written].map(|n| n.unwrap_or(0));
        let plain = read.saturating_sub(hit.saturating_add(put));
        let parts = [(plain, input), (hit, cached), (put, cache_write), (written, out)];
        Some(parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6)
    }

    /// Returns the number of calls per move if no call fails.
    pub(super) fn calls(&self) -> usize {
        match self.wording.method {
            Method::Prompt | Method::Cot | Method::Parts | Method::Chat => 1,
            Method::ScCot => self.n,
            Method::Tot => 2 * (self.width + if self.width > 1 { self.votes } else { 0 }),
            Method::SelfRefine => 3,
        }
    }
}

/// Returns the thinking budget in tokens for an effort level of Anthropic's API; `None` for unknown levels.
pub(super) fn thinking_budget(effort: &str) -> Option<u64> {
    match effort {
        "low" => Some(2048),
        "medium" => Some(8192),
        "high" => Some(24_576),
        _ => None,
    }
}

fn wording(spec: &AgentSpec) -> Result<Wording, Refusal> {
    let methods = [
        ("prompt", Method::Prompt),
        ("cot", Method::Cot),
        ("sc_cot", Method::ScCot),
        ("tot", Method::Tot),
        ("self_refine", Method::SelfRefine),
        ("parts", Method::Parts),
        ("chat", Method::Chat),
    ];
    let method = one_of(spec, "prompting", &methods)?;
    let system = one_of(spec, "template", &[("standard", true), ("user", false)])?;
    if method == Method::Chat && !system {
        return Err(bad_value("template", "user", "standard with prompting=chat, which sends the rules only once"));
    }
    Ok(Wording {
        method,
        memory: (method == Method::Chat).then(|| size(spec, "memory")),
        variant: size(spec, "variant"),
        system,
        legal: spec.flag("legal"),
        hints: spec.flag("hints"),
        rules: one_of(
            spec,
            "rules",
            &[("long", RulesShown::Long), ("short", RulesShown::Short), ("none", RulesShown::None)],
        )?,
        swap: spec.flag("swap"),
        relabel: spec.int("relabel").unwrap_or(0),
        phrasing: size(spec, "wording"),
        history: size(spec, "history"),
        emotion: spec.flag("emotion"),
    })
}

fn size(spec: &AgentSpec, name: &str) -> usize {
    spec.int(name).unwrap_or(0) as usize
}

/// Arguments that require `batch=true`.
pub(super) const BATCH: [&str; 3] = ["batch_wait", "batch_size", "batch_poll"];

fn batching(spec: &AgentSpec) -> Result<Option<Batching>, Refusal> {
    if !spec.flag("batch") {
        return match BATCH.iter().find(|name| spec.has_arg(name)) {
            Some(name) => Err(bad_spec(format!("{name} needs batch=true")).path("batch")),
            None => Ok(None),
        };
    }
    let seconds = |name: &str| Duration::from_secs_f64(spec.number(name).unwrap_or_default());
    Ok(Some(Batching { wait: seconds("batch_wait"), size: size(spec, "batch_size"), poll: seconds("batch_poll") }))
}

/// Parses an argument that must be one of `words`, and returns the value that belongs to the word.
fn one_of<T: Copy>(spec: &AgentSpec, name: &str, words: &[(&str, T)]) -> Result<T, Refusal> {
    let got = spec.text(name).unwrap_or_default();
    words.iter().find(|(word, _)| *word == got).map(|&(_, value)| value).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        bad_value(name, &got, &all.join(", "))
    })
}

fn base_url(spec: &AgentSpec, api: Api) -> Result<String, Refusal> {
    let Some(given) = spec.text("base_url") else {
        return Ok(match api {
            Api::OpenAi => "https://api.openai.com/v1".to_owned(),
            Api::Anthropic => "https://api.anthropic.com".to_owned(),
        });
    };
    let url = given.trim_end_matches('/');
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    if rest.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
        let allowed = "a URL such as https://api.openai.com/v1 or http://127.0.0.1:8000/v1";
        return Err(bad_value("base_url", &given, allowed));
    }
    // URLs are recorded; keys must not be.
    let host = rest.unwrap_or_default().split('/').next().unwrap_or_default();
    if host.contains('@') || url.contains('?') {
        let allowed = "a URL without user, password or query, since it is recorded; use key_env for keys";
        return Err(bad_value("base_url", "(not shown)", allowed));
    }
    // Anthropic's path contains the version; both spellings are accepted.
    Ok(if api == Api::Anthropic { url.strip_suffix("/v1").unwrap_or(url) } else { url }.to_owned())
}

/// Returns true if a URL points to this machine.
pub(super) fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn extra(spec: &AgentSpec) -> Result<Map<String, Value>, Refusal> {
    let Some(text) = spec.text("extra") else { return Ok(Map::new()) };
    match serde_json::from_str(&text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(bad_value("extra", &text, r#"a JSON object such as {"top_p": 0.9}"#)),
        Err(e) => Err(bad_value("extra", &text, &format!("a JSON object such as {{\"top_p\": 0.9}} ({e})"))),
    }
}

fn cache(spec: &AgentSpec, api: Api) -> Result<bool, Refusal> {
    match (spec.flag("cache"), api) {
        (true, Api::OpenAi) => {
            Err(bad_value("cache", "true", "false, or true with api=anthropic; other APIs cache prompts automatically"))
        }
        (cache, _) => Ok(cache),
    }
}

fn price(spec: &AgentSpec) -> Result<Option<Price>, Refusal> {
    let of = |name: &str, input: f64| spec.number(name).unwrap_or(input);
    match (spec.number("price_in"), spec.number("price_out")) {
        (Some(input), Some(out)) => {
            let (cached, cache_write) = (of("price_cached", input), of("price_cache_write", input));
            Ok(Some(Price { input, cached, cache_write, out }))
        }
        (None, None) => match ["price_cached", "price_cache_write"].iter().find(|name| spec.number(name).is_some()) {
            Some(name) => Err(bad_spec(format!("{name} needs price_in and price_out")).path("price_in")),
            None => Ok(None),
        },
        (input, _) => {
            let name = if input.is_some() { "price_out" } else { "price_in" };
            let message = format!("missing {name}; allowed: both prices or neither");
            Err(bad_spec(message).path(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &str) -> Result<Settings, Refusal> {
        Settings::read(&AgentSpec::parse(&format!("llm model=m {args}"))?)
    }

    #[test]
    fn local_endpoint_needs_no_key() {
        for (url, local) in [
            ("http://127.0.0.1:8000/v1", true),
            ("http://localhost/v1", true),
            ("http://[::1]:9/v1", true),
            ("http://127.0.0.1.example.org/v1", false),
            ("http://10.0.0.7:8000/v1", false),
        ] {
            let settings = read(&format!("base_url={url}")).unwrap();
            assert_eq!(settings.key_env.is_none(), local, "{url}");
        }
        assert_eq!(read("base_url=http://127.0.0.1/v1 key_env=K").unwrap().key_env.as_deref(), Some("K"));
        assert_eq!(read("api=anthropic").unwrap().key_env.as_deref(), Some("ANTHROPIC_API_KEY"));
    }

    #[test]
    fn refusal_identifies_the_invalid_argument() {
        for (args, name) in [
            ("api=gemini", "api"),
            ("prompting=magic", "prompting"),
            ("base_url=localhost:80", "base_url"),
            ("base_url=http:///v1", "base_url"),
            ("extra=[1]", "extra"),
            ("extra={", "extra"),
            ("price_in=1", "price_out"),
            ("price_cached=1", "price_in"),
            ("batch_size=10", "batch"),
            ("cache=true", "cache"),
            ("prompting=chat template=user", "template"),
            ("api=anthropic effort=huge", "effort"),
            ("api=anthropic effort=low format=schema", "format"),
            ("template=nice", "template"),
        ] {
            let e = read(args).err().unwrap_or_else(|| panic!("{args} was accepted"));
            assert_eq!(e.path.as_deref(), Some(name), "{args}: {e}");
        }
    }

    #[test]
    fn base_url_is_normalized() {
        assert_eq!(read("base_url=http://h/v1/").unwrap().base_url, "http://h/v1");
        assert_eq!(read("api=anthropic base_url=http://h/v1").unwrap().base_url, "http://h");
    }
}
