//! What the arguments of an `llm` spec mean.

use std::time::Duration;

use ludex_protocol::Refusal;
use ludex_protocol::error::truncate_text;
use serde_json::{Map, Value};

use crate::refusal::{bad_spec, bad_value};
use crate::spec::{AgentSpec, ArgDef, ArgKind};

const COUNT: ArgKind = ArgKind::Int { min: 1, max: 64 };
const PRICE: ArgKind = ArgKind::Number { min: 0.0, max: 1e6 };

/// Which of the tokens read came from the endpoint's cache, and which were put there; absent where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cached {
    pub(super) read: Option<u64>,
    pub(super) written: Option<u64>,
}

/// The arguments, in canonical order.
pub(super) const ARGS: &[ArgDef] = &[
    ArgDef::new("model", ArgKind::Text, "the model's name at the endpoint").required(),
    ArgDef::new("api", ArgKind::Text, "openai (chat completions, which most servers speak) or anthropic (messages)")
        .default("openai"),
    ArgDef::new(
        "base_url",
        ArgKind::Text,
        "where the endpoint is, such as http://127.0.0.1:8000/v1; if absent, the public one of the api",
    ),
    ArgDef::new(
        "key_env",
        ArgKind::Text,
        "the environment variable that holds the key; if absent, OPENAI_API_KEY or ANTHROPIC_API_KEY, \
         and none for a base_url on this machine",
    ),
    ArgDef::new("prompting", ArgKind::Text, "prompt, cot, parts, chat, sc_cot, tot or self_refine").default("prompt"),
    ArgDef::new("variant", ArgKind::Int { min: 0, max: 4 }, "which opening sentence asks to think (cot and sc_cot)")
        .default("0"),
    ArgDef::new("n", COUNT, "samples that vote (sc_cot)").default("5"),
    ArgDef::new("width", COUNT, "candidates of each of the two steps (tot)").default("3"),
    ArgDef::new("votes", COUNT, "votes on the candidates of a step (tot)").default("3"),
    ArgDef::new(
        "memory",
        ArgKind::Int { min: 0, max: 10_000 },
        "how many earlier questions of the match the conversation holds, with their answers (chat)",
    )
    .default("20"),
    ArgDef::new(
        "effort",
        ArgKind::Text,
        "sent as reasoning_effort; with api=anthropic low, medium or high: a thinking budget of 2048, 8192 or \
         24576 tokens",
    ),
    ArgDef::new("temperature", ArgKind::Number { min: 0.0, max: 2.0 }, "if absent, the endpoint's default"),
    ArgDef::new(
        "max_tokens",
        ArgKind::Int { min: 1, max: 10_000_000 },
        "bound on an answer; if absent, the endpoint's default (api=anthropic must have one: 8192, and the thinking \
         budget)",
    ),
    ArgDef::new("extra", ArgKind::Text, "a JSON object laid over the request body; null takes a field away"),
    ArgDef::new("timeout", ArgKind::Number { min: 0.1, max: 86_400.0 }, "seconds for one call").default("300"),
    ArgDef::new(
        "retries",
        ArgKind::Int { min: 0, max: 100 },
        "how often a call is made again that failed for the moment",
    )
    .default("5"),
    ArgDef::new(
        "rpm",
        ArgKind::Int { min: 0, max: 1_000_000 },
        "calls a minute to this endpoint and model, over the whole process; 0: no bound",
    )
    .default("0"),
    ArgDef::new(
        "concurrency",
        ArgKind::Int { min: 1, max: 10_000 },
        "calls at a time to this endpoint and model, over the whole process",
    )
    .default("8"),
    ArgDef::new(
        "batch",
        ArgKind::Flag,
        "ask through the provider's batch interface, the questions of many matches together: answers come within a day, for the \
         provider's price of batches",
    )
    .default("false"),
    ArgDef::new(
        "batch_wait",
        ArgKind::Number { min: 0.0, max: 3600.0 },
        "seconds without a new question before a batch is sent",
    )
    .default("5"),
    ArgDef::new("batch_size", ArgKind::Int { min: 1, max: 50_000 }, "the most questions in a batch")
        .default("10000"),
    ArgDef::new(
        "batch_poll",
        ArgKind::Number { min: 0.01, max: 3600.0 },
        "seconds between two looks whether a batch is done",
    )
    .default("30"),
    ArgDef::new(
        "format",
        ArgKind::Text,
        "how moves are answered: schema (JSON), text (a labelled line), or auto: JSON where the endpoint takes a schema",
    )
    .default("auto"),
    ArgDef::new(
        "stub",
        ArgKind::Flag,
        "tell the endpoint the position in `metadata`, for the stand-in of `ludex llm-stub`",
    )
    .default("false"),
    ArgDef::new("price_in", PRICE, "USD for a million tokens read"),
    ArgDef::new("price_out", PRICE, "USD for a million tokens written"),
    ArgDef::new("price_cached", PRICE, "USD for a million of the tokens read that come from the endpoint's cache; if absent, price_in"),
    ArgDef::new("price_cache_write", PRICE, "USD for a million of the tokens read that are put into its cache; if absent, price_in"),
    ArgDef::new(
        "cache",
        ArgKind::Flag,
        "mark what prompts have in common for the endpoint's cache (api=anthropic; others do it by themselves)",
    )
    .default("false"),
    ArgDef::new("template", ArgKind::Text, "standard, or user: no system message, the user's says everything")
        .default("standard"),
    ArgDef::new("legal", ArgKind::Flag, "list the legal moves").default("true"),
    ArgDef::new("hints", ArgKind::Flag, "give advice on the strategy, where there is some for the game").default("false"),
    ArgDef::new("rules", ArgKind::Text, "long, short (what the game is) or none").default("long"),
    ArgDef::new("swap", ArgKind::Flag, "exchange rows and columns of the drawn board: for games that draw a plain grid")
        .default("false"),
    ArgDef::new("history", ArgKind::Int { min: 0, max: 1_000_000 }, "how many of the last moves are told").default("0"),
    ArgDef::new("emotion", ArgKind::Flag, "ask for an emotion, A to E, and a short analysis beside the move").default("false"),
];

/// Which endpoint is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Api {
    OpenAi,
    Anthropic,
}

/// How a move comes about.
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

/// How moves are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Auto,
    Schema,
    Text,
}

/// How much of the rules is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RulesShown {
    Long,
    Short,
    None,
}

/// The arguments that change what is said, not whom it is said to.
#[derive(Clone, Debug)]
pub(super) struct Wording {
    pub(super) method: Method,
    pub(super) variant: usize,
    pub(super) system: bool,
    pub(super) legal: bool,
    pub(super) hints: bool,
    pub(super) rules: RulesShown,
    pub(super) swap: bool,
    pub(super) history: usize,
    pub(super) emotion: bool,
    /// How many earlier questions a conversation holds; absent where each question stands alone.
    pub(super) memory: Option<usize>,
}

/// USD for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    /// Of those read.
    pub(super) input: f64,
    /// Of those read that come from the endpoint's cache.
    pub(super) cached: f64,
    /// Of those read that are put into it.
    pub(super) cache_write: f64,
    /// Of those written.
    pub(super) out: f64,
}

/// How questions are gathered for the provider's batch interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Batching {
    /// Without a new question for so long, what has gathered is sent.
    pub(super) wait: Duration,
    /// The most questions in a batch.
    pub(super) size: usize,
    /// How long after a look the next one is taken whether a batch is done.
    pub(super) poll: Duration,
}

/// A spec's arguments, read.
pub(super) struct Settings {
    pub(super) model: String,
    pub(super) api: Api,
    /// Without a slash at its end.
    pub(super) base_url: String,
    /// The variable that holds the key, unless none is needed.
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
    /// Absent where each question is a call of its own.
    pub(super) batch: Option<Batching>,
    pub(super) format: Format,
    pub(super) stub: bool,
    pub(super) price: Option<Price>,
    /// Whether parts of the prompt are marked for the endpoint's cache.
    pub(super) cache: bool,
    pub(super) wording: Wording,
    pub(super) seed: Option<u64>,
}

impl Settings {
    /// Reads a spec.
    ///
    /// # Errors
    /// A value that the argument does not take.
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
        let format =
            one_of(spec, "format", &[("auto", Format::Auto), ("schema", Format::Schema), ("text", Format::Text)])?;
        let effort = spec.text("effort");
        if let (Api::Anthropic, Some(effort)) = (api, &effort) {
            if thinking_budget(effort).is_none() {
                return Err(bad_value("effort", effort, "low, medium or high with api=anthropic"));
            }
            if format == Format::Schema {
                let allowed = "with effort, api=anthropic cannot be made to call a tool: use format=text";
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

    /// The key, if one is needed.
    ///
    /// # Errors
    /// The variable is not set, or empty.
    pub(super) fn key(&self) -> Result<Option<String>, Refusal> {
        let Some(name) = &self.key_env else { return Ok(None) };
        match std::env::var(name) {
            Ok(key) if !key.trim().is_empty() => Ok(Some(key.trim().to_owned())),
            _ => {
                let message = format!(
                    "the key for {} is missing: set the environment variable {name}, or name another with key_env",
                    self.base_url
                );
                Err(bad_spec(message).path("key_env").got(truncate_text(name)))
            }
        }
    }

    /// What these tokens cost in USD, where the prices are known. `cache` counts those of the tokens read that its prices are for.
    pub(super) fn usd(&self, read: u64, cache: Cached, written: u64) -> Option<f64> {
        let Price { input, cached, cache_write, out } = self.price?;
        let [hit, put] = [cache.read, cache.written].map(|n| n.unwrap_or(0));
        let plain = read.saturating_sub(hit.saturating_add(put));
        let parts = [(plain, input), (hit, cached), (put, cache_write), (written, out)];
        Some(parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6)
    }

    /// How many calls a move takes that nothing goes wrong with.
    pub(super) fn calls(&self) -> usize {
        match self.wording.method {
            Method::Prompt | Method::Cot | Method::Parts | Method::Chat => 1,
            Method::ScCot => self.n,
            Method::Tot => 2 * (self.width + if self.width > 1 { self.votes } else { 0 }),
            Method::SelfRefine => 3,
        }
    }
}

/// Tokens of thinking for an effort, as Anthropic's API wants them.
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
        return Err(bad_value("template", "user", "standard with prompting=chat: the rules are said once"));
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
        history: size(spec, "history"),
        emotion: spec.flag("emotion"),
    })
}

fn size(spec: &AgentSpec, name: &str) -> usize {
    spec.int(name).unwrap_or(0) as usize
}

/// Arguments that mean something with `batch=true` alone.
pub(super) const BATCH: [&str; 3] = ["batch_wait", "batch_size", "batch_poll"];

fn batching(spec: &AgentSpec) -> Result<Option<Batching>, Refusal> {
    if !spec.flag("batch") {
        return match BATCH.iter().find(|name| spec.gives(name)) {
            Some(name) => Err(bad_spec(format!("{name} needs batch=true")).path("batch")),
            None => Ok(None),
        };
    }
    let seconds = |name: &str| Duration::from_secs_f64(spec.number(name).unwrap_or_default());
    Ok(Some(Batching { wait: seconds("batch_wait"), size: size(spec, "batch_size"), poll: seconds("batch_poll") }))
}

/// A text argument that takes one of these words.
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
    // A URL stands in records; a key must not.
    let host = rest.unwrap_or_default().split('/').next().unwrap_or_default();
    if host.contains('@') || url.contains('?') {
        let allowed = "a URL without a user, a password or a query: it stands in records. Keys are named by key_env";
        return Err(bad_value("base_url", "(not shown)", allowed));
    }
    // Anthropic's path has the version in it; people write it either way.
    Ok(if api == Api::Anthropic { url.strip_suffix("/v1").unwrap_or(url) } else { url }.to_owned())
}

/// Whether a URL leads to this machine.
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
            Err(bad_value("cache", "true", "api=anthropic alone takes marks; others keep prompts by themselves"))
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
            let message = format!("{name} is missing: give both prices or neither");
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
    fn only_this_machine_needs_no_key() {
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
    fn bad_values_are_named() {
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
            let e = read(args).err().unwrap_or_else(|| panic!("{args} was taken"));
            assert_eq!(e.path.as_deref(), Some(name), "{args}: {e}");
        }
    }

    #[test]
    fn urls_are_trimmed() {
        assert_eq!(read("base_url=http://h/v1/").unwrap().base_url, "http://h/v1");
        assert_eq!(read("api=anthropic base_url=http://h/v1").unwrap().base_url, "http://h");
    }
}
