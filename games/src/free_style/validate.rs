//! Validation of rule documents: structure, references, and statistics of 200 random games.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, LazyLock};

use hashlink::LruCache;
use jsonschema::Validator;
use ludex_env::draw::Stream;
use ludex_protocol::error::Issue;
use parking_lot::Mutex;
use serde::Deserialize as _;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::board::{self, ZONES, mirrored};
use super::document::{
    ActionRule, Document, End, MOST_BYTES, Mode, Near, Reveal, Score, Setup, Steps, StuckThen, Then, Values, kind, zone,
};
use super::legal;
use super::position::{BoardState, Why, Winner};
use super::rules::Rules;

/// Number of random games that a validation plays.
const GAMES: u32 = 200;
/// Number of documents whose random games are cached.
const CACHED_VERDICTS: usize = 4_096;

/// Statistics of the random games of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Playouts {
    /// Number of games that each seat won. Seat 0 acts as the author.
    pub wins: [u32; 2],
    pub draws: u32,
    pub plies: u32,
    /// Number of games that the seat with the first move won.
    first: u32,
    /// Number of games that ended at the ply cap.
    capped: u32,
    /// Number of games that ended because a seat had no action and no rule covers this.
    helpless: u32,
}

/// Result of validating a document.
#[derive(Debug)]
pub(super) struct Verdict {
    /// Reasons to refuse the document; empty if it is valid.
    pub issues: Vec<Issue>,
    /// Advice to the author; does not make the document invalid.
    pub warnings: Vec<Issue>,
    /// The compiled rules, if the document could be parsed.
    pub rules: Option<Rules>,
    /// Statistics of the random games, if any were played.
    pub playouts: Option<Playouts>,
}

impl Verdict {
    fn from_issues(issues: Vec<Issue>) -> Self {
        Verdict { issues, warnings: Vec::new(), rules: None, playouts: None }
    }

    /// Returns the compiled rules of a valid document.
    ///
    /// # Errors
    /// Returns the issues of an invalid document.
    pub(super) fn into_rules(self) -> Result<Rules, Vec<Issue>> {
        match self.rules {
            Some(rules) if self.issues.is_empty() => Ok(rules),
            _ => Err(self.issues),
        }
    }
}

/// Creates an issue with a code, a path, the refused value, the allowed values and a message.
pub(super) fn flaw(
    code: &str,
    path: impl Into<String>,
    got: &Value,
    allowed: impl Into<Value>,
    message: impl Into<String>,
) -> Issue {
    Issue::new(path, got, allowed, message).code(code)
}

/// The JSON Schema of rule documents, with a compiled validator.
static SCHEMA: LazyLock<(Value, Option<Validator>)> = LazyLock::new(|| {
    let schema = super::document::schema();
    let validator = jsonschema::validator_for(&schema).ok();
    (schema, validator)
});

/// Compiles a document from an untrusted source without playing random games; `None` if it cannot be compiled.
pub(super) fn rules(value: &Value) -> Option<Arc<Rules>> {
    SCHEMA.1.as_ref()?.is_valid(value).then_some(())?;
    Some(Arc::new(Rules::of(serde_json::from_value(value.clone()).ok()?)?))
}

/// Validates any JSON value, including its structure.
pub(super) fn verdict(value: &Value) -> Verdict {
    let (schema, validator) = &*SCHEMA;
    let errors = validator.iter().flat_map(|v| v.iter_errors(value));
    let issues: Vec<Issue> = errors
        .take(64)
        .map(|e| {
            let code = if e.kind().keyword().starts_with("max") && e.instance().is_array() { "size" } else { "schema" };
            let allowed = schema.pointer(e.schema_path().as_str()).cloned().unwrap_or_default();
            flaw(code, e.instance_path().to_string(), e.instance(), allowed, ludex_env::documents::message(&e))
        })
        .collect();
    if issues.is_empty() { judge(value) } else { Verdict::from_issues(issues) }
}

/// Returns the length in bytes of a value serialized as JSON.
fn length(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Serializing a value cannot fail, and the counting writer never fails.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Validates a value that is known to match the schema.
pub(super) fn judge(value: &Value) -> Verdict {
    let bytes = length(value);
    if bytes > MOST_BYTES {
        let message = format!("document: expected at most {MOST_BYTES} bytes, got {bytes}");
        return Verdict::from_issues(vec![flaw("size", "", &json!(bytes), format!("{MOST_BYTES} bytes"), message)]);
    }
    let document = match Document::deserialize(value) {
        Ok(document) => document,
        Err(e) => return Verdict::from_issues(vec![flaw("schema", "", value, "an FSR/1 document", e.to_string())]),
    };
    let mut issues = Vec::new();
    references(&document, &mut issues);
    fields(&document, &mut issues);
    supplies(&document, &mut issues);
    secrets(&document, &mut issues);
    decisive(&document, &mut issues);
    if !issues.is_empty() {
        return Verdict::from_issues(issues);
    }
    let Some(rules) = Rules::of(document) else {
        return Verdict::from_issues(vec![flaw("reference", "", value, "defined names", "a name is not defined")]);
    };
    opening(&rules, &mut issues);
    if !issues.is_empty() {
        return Verdict { rules: Some(rules), ..Verdict::from_issues(issues) };
    }
    let playouts = playouts(&rules);
    let warnings = results(&playouts, &mut issues);
    Verdict { issues, warnings, rules: Some(rules), playouts: Some(playouts) }
}

/// Returns the names of all zones that a document refers to, each with the path of the reference.
fn zone_references(d: &Document) -> Vec<(String, &str)> {
    let mut out: Vec<(String, &str)> = Vec::new();
    for (k, a) in d.actions.iter().enumerate() {
        if let ActionRule::Place { by, .. } = a {
            out.extend(by.both().into_iter().enumerate().map(|(s, name)| (format!("/actions/{k}/by/{s}"), name)));
        }
    }
    for (k, e) in d.end.iter().enumerate() {
        if let End::Reach { zone, .. } = e {
            out.extend(zone.both().into_iter().enumerate().map(|(s, name)| (format!("/end/{k}/zone/{s}"), name)));
        }
    }
    for (k, s) in d.score.iter().enumerate() {
        if let Score::RowCompare(c) | Score::ColCompare(c) = s {
            out.extend(c.cells.both().into_iter().enumerate().map(|(p, name)| (format!("/score/{k}/cells/{p}"), name)));
        }
    }
    out
}

/// Adds an issue for each reference to an undefined name, and for each name or cell that is defined more than once.
fn references(d: &Document, issues: &mut Vec<Issue>) {
    let kinds: Vec<&str> = d.kinds.iter().map(|k| k.id.as_str()).collect();
    for (k, id) in kinds.iter().enumerate() {
        if kinds[..k].contains(id) {
            let path = format!("/kinds/{k}/id");
            issues.push(flaw("reference", path, &json!(id), "a unique id", format!("two kinds have the id {id}")));
        }
    }
    let used = d.actions.iter().enumerate().filter_map(|(k, a)| match a {
        ActionRule::Place { kind, .. } | ActionRule::Move { kind, .. } => Some((format!("/actions/{k}/kind"), kind)),
        ActionRule::Pass { .. } => None,
    });
    let set = d.setup.iter().enumerate().map(|(k, s)| (format!("/setup/{k}/kind"), &s.kind));
    for (path, id) in used.chain(set) {
        if kind(d, id).is_none() {
            issues.push(flaw("reference", path, &json!(id), kinds.clone(), format!("unknown kind {id}")));
        }
    }
    for (name, cells) in &d.zones {
        if board::zone(name).is_some() {
            let message = format!("{name} is a built-in zone");
            issues.push(flaw("reference", format!("/zones/{}", pointer(name)), &json!(cells), "another name", message));
        }
    }
    for (path, name) in zone_references(d) {
        if zone(d, name).is_none() {
            let own = d.zones.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let allowed = if own.is_empty() { ZONES.to_owned() } else { format!("{ZONES}, {own}") };
            issues.push(flaw("reference", path, &json!(name), allowed, format!("unknown zone {name}")));
        }
    }
    let mut taken = BTreeSet::new();
    for (k, s) in d.setup.iter().enumerate() {
        if !taken.insert(s.at) {
            let message = format!("two pieces are on {}", String::from(s.at));
            issues.push(flaw("reference", format!("/setup/{k}/at"), &json!(s.at), "an empty cell", message));
        }
    }
}

/// Escapes a name as one segment of a JSON pointer.
fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Adds an issue for each field that does not fit other fields, such as `n` of an effect that changes no number.
fn fields(d: &Document, issues: &mut Vec<Issue>) {
    for (k, e) in d.effects.iter().enumerate() {
        let counts = matches!(e.then, Then::Add | Then::Sub);
        if counts != e.n.is_some() {
            let allowed = if counts { json!("1 to 25") } else { Value::Null };
            let message = "n is required for `add` and `sub`, and not allowed for other effects";
            issues.push(flaw("schema", format!("/effects/{k}/n"), &json!(e.n), allowed, message));
        }
    }
    for (k, s) in d.score.iter().enumerate() {
        let (len, line) = match s {
            Score::Line(p) => (p.len, true),
            Score::Piece(p) | Score::Value(p) | Score::Territory4(p) | Score::LargestGroup4(p) | Score::Capture(p) => {
                (p.len, false)
            }
            Score::RowCompare(_) | Score::ColCompare(_) => continue,
        };
        if line != len.is_some() {
            let allowed = if line { json!("2 to 5") } else { Value::Null };
            let message = "len is required for `line`, and not allowed for other scores";
            issues.push(flaw("schema", format!("/score/{k}/len"), &json!(len), allowed, message));
        }
    }
    for (k, s) in d.setup.iter().enumerate() {
        let values = kind(d, &s.kind).and_then(|i| d.kinds[i].values.as_ref());
        let fits = match (values, s.value) {
            (Some(v), Some(n)) => (v.min..=v.max).contains(&n),
            (None, None) => true,
            _ => false,
        };
        if !fits && kind(d, &s.kind).is_some() {
            let allowed = values.map_or(Value::Null, |v| json!(format!("{} to {}", v.min, v.max)));
            let message = format!("the number of the piece on {} does not fit its kind", String::from(s.at));
            issues.push(flaw("sum", format!("/setup/{k}/value"), &json!(s.value), allowed, message));
        }
    }
}

/// Adds an issue for each kind whose supply does not fit on the board, in its range of numbers or in its `sum_max`.
/// Also adds an issue for each `supply_out` condition that cannot apply.
fn supplies(d: &Document, issues: &mut Vec<Issue>) {
    for (k, one) in d.kinds.iter().enumerate() {
        if let Some(v) = &one.values {
            numbers(d, k, v, one.supply.unwrap_or(1), issues);
        }
    }
    let placed = |id: &str| d.actions.iter().any(|a| matches!(a, ActionRule::Place { kind, .. } if kind == id));
    for (at, end) in d.end.iter().enumerate() {
        if !matches!(end, End::SupplyOut { .. }) {
            continue;
        }
        let path = format!("/end/{at}");
        for one in d.kinds.iter().filter(|k| placed(&k.id) && k.supply.is_none()) {
            let message = format!("supply_out cannot apply: the supply of kind {} has no limit", one.id);
            issues.push(flaw("supply", path.clone(), &json!("supply_out"), "kinds with a supply", message));
        }
        if !d.kinds.iter().any(|k| placed(&k.id)) {
            let message = "supply_out cannot apply: no action places pieces";
            issues.push(flaw("supply", path, &json!("supply_out"), "a place action", message));
        }
    }
    let leaves = d.actions.iter().any(|a| matches!(a, ActionRule::Move { .. }))
        || d.effects.iter().any(|e| e.then == Then::Remove);
    for (k, one) in d.kinds.iter().enumerate().filter(|_| !leaves) {
        let room = |seat: usize| {
            let zones = d.actions.iter().filter_map(|a| match a {
                ActionRule::Place { kind, by, .. } if *kind == one.id => zone(d, by.both()[seat]),
                _ => None,
            });
            zones.fold(0, |all, z| all | z).count_ones()
        };
        if let Some(n) = one.supply.filter(|&n| placed(&one.id) && (0..2).any(|seat| room(seat) < u32::from(n))) {
            let room = room(0).min(room(1));
            let message = format!("{n} pieces of kind {} do not fit on the cells where they may be placed", one.id);
            issues.push(flaw("supply", format!("/kinds/{k}/supply"), &json!(n), format!("at most {room}"), message));
        }
    }
}

/// Adds an issue if a kind has too few different numbers for `supply` pieces, or if even the lowest numbers exceed the
/// kind's `sum_max`.
fn numbers(d: &Document, k: usize, v: &Values, supply: u8, issues: &mut Vec<Issue>) {
    let path = format!("/kinds/{k}/values");
    if v.min > v.max {
        let message = "min is greater than max";
        return issues.push(flaw("sum", format!("{path}/min"), &json!(v.min), format!("at most {}", v.max), message));
    }
    for seat in 0..2 {
        let of = |s: &&Setup| s.owner == seat && s.kind == d.kinds[k].id;
        let set: Vec<u8> = d.setup.iter().filter(of).filter_map(|s| s.value).collect();
        let free: Vec<u8> = (v.min..=v.max).filter(|n| !v.unique || !set.contains(n)).collect();
        if v.unique && free.len() < usize::from(supply) {
            let message = format!("{} different numbers are not enough for {supply} pieces", free.len());
            return issues.push(flaw("sum", path, &json!(v), "as many numbers as pieces", message));
        }
        let least: u32 = match v.unique {
            true => free.iter().take(supply.into()).map(|&n| u32::from(n)).sum(),
            false => u32::from(v.min) * u32::from(supply),
        };
        let sum = least + set.iter().map(|&n| u32::from(n)).sum::<u32>();
        if let Some(most) = v.sum_max.filter(|&most| u32::from(most) < sum) {
            let message = format!("the numbers of {supply} pieces have a sum of at least {sum}");
            return issues.push(flaw(
                "sum",
                format!("{path}/sum_max"),
                &json!(most),
                format!("at least {sum}"),
                message,
            ));
        }
    }
}

/// Adds an issue for each rule that makes public information depend on hidden information.
fn secrets(d: &Document, issues: &mut Vec<Issue>) {
    let mut add = |path: String, got: Value, message: &str| {
        issues.push(flaw("hidden", path, &got, "another value, or no hidden information", message));
    };
    if d.hidden.values {
        for (k, e) in d.effects.iter().enumerate().filter(|(_, e)| e.then != Then::Remove || e.cond.is_some()) {
            add(format!("/effects/{k}"), json!(e), "if numbers are hidden, an effect must be `remove` without `if`");
        }
        for (k, a) in d.actions.iter().enumerate() {
            if let ActionRule::Move { onto, .. } = a
                && onto.compares()
                && d.hidden.reveal == Reveal::End
            {
                let path = format!("/actions/{k}/onto");
                add(path, json!(onto), "a comparison reveals hidden numbers, so `reveal` must be `contact`");
            }
        }
    }
    if !d.hidden.pieces {
        return;
    }
    if d.mode == Mode::Simultaneous {
        add("/mode".into(), json!(d.mode), "if pieces are hidden, `mode` must be `alternate`");
    }
    for (k, a) in d.actions.iter().enumerate() {
        match a {
            ActionRule::Move { .. } => {
                add(format!("/actions/{k}"), json!(a), "if pieces are hidden, move actions are not allowed");
            }
            ActionRule::Place { near: near @ (Near::Opp4 | Near::Opp8), .. } => {
                let path = format!("/actions/{k}/near");
                add(path, json!(near), "if pieces are hidden, `near` must not refer to opposing pieces");
            }
            _ => {}
        }
    }
    for (k, e) in d.effects.iter().enumerate() {
        add(format!("/effects/{k}"), json!(e), "if pieces are hidden, effects are not allowed");
    }
}

/// Adds an issue if no end condition and no score can decide the game.
fn decisive(d: &Document, issues: &mut Vec<Issue>) {
    let wins = d.end.iter().any(|e| match e {
        End::Full { .. } | End::SupplyOut { .. } => false,
        End::Stuck { then } => *then == StuckThen::Lose,
        _ => true,
    });
    if !wins && d.score.is_empty() {
        let message = "neither seat can win: the document has no winning end and no score";
        issues.push(flaw("decisive", "/end", &json!(d.end), "a winning end, or a score", message));
    }
}

/// Adds an issue for each seat that has no action in the initial position.
fn opening(rules: &Rules, issues: &mut Vec<Issue>) {
    let s = BoardState::start(rules, 0);
    for seat in (0..2).filter(|&seat| !legal::free(rules, &s, seat)) {
        let message = format!("seat {} has no action in the initial position", ["a", "b"][seat]);
        issues.push(flaw("opening", "/actions", &json!(rules.document.actions), "an action for each seat", message));
    }
}

/// Plays a random game and returns its last position.
pub(super) fn random_game(rules: &Rules, first: usize, rng: &mut Stream) -> BoardState {
    let mut s = BoardState::start(rules, first);
    while s.over.is_none() {
        if rules.together() {
            let one =
                |seat: usize, rng: &mut Stream| (s.acts >> seat & 1 == 1).then(|| legal::random(rules, &s, seat, rng));
            let joint = [one(0, rng), one(1, rng)];
            s.step_together(rules, joint);
        } else {
            let a = legal::random(rules, &s, s.mover.into(), rng);
            s.step(rules, a);
        }
    }
    s
}

/// Plays the random games of a verdict. The same rules always give the same games. Results are cached, because agents,
/// hosts and pages validate the same documents again and again.
fn playouts(rules: &Rules) -> Playouts {
    static CACHE: LazyLock<Mutex<LruCache<[u8; 32], Playouts>>> =
        LazyLock::new(|| Mutex::new(LruCache::new(CACHED_VERDICTS)));
    let key = Sha256::digest(rules.canonical.to_string()).into();
    if let Some(found) = CACHE.lock().get(&key) {
        return *found;
    }
    let found = played(rules);
    CACHE.lock().insert(key, found);
    found
}

fn played(rules: &Rules) -> Playouts {
    let mut rng = Stream::from_text(&format!("ludex.v1:free_style:{}", rules.hash));
    let mut out = Playouts::default();
    for _ in 0..GAMES {
        let first = rules.first(0).unwrap_or_else(|| rng.below(2));
        let s = random_game(rules, first, &mut rng);
        out.plies += u32::from(s.ply);
        let Some(over) = s.over else { continue };
        match over.winner {
            Winner::Seat(seat) => {
                out.wins[usize::from(seat & 1)] += 1;
                out.first += u32::from(usize::from(seat) == first);
            }
            Winner::Draw => out.draws += 1,
        }
        out.capped += u32::from(over.why == Why::PlyCap);
        out.helpless += u32::from(over.why == Why::NoAction);
    }
    out
}

/// Adds issues that follow from the random games, and returns warnings.
fn results(p: &Playouts, issues: &mut Vec<Issue>) -> Vec<Issue> {
    let decided = p.wins[0] + p.wins[1];
    if p.helpless > 0 {
        let message =
            format!("in {} of {GAMES} random games a seat had no action, and no rule covers this", p.helpless);
        let allowed = "an end `stuck`, or a pass when stuck";
        issues.push(flaw("stuck", "/end", &json!(p.helpless), allowed, message));
    }
    if decided * 20 < GAMES {
        let message = format!("only {decided} of {GAMES} random games had a winner");
        issues.push(flaw("decisive", "", &json!(decided), format!("at least {}", GAMES / 20), message));
        return Vec::new();
    }
    let mut warnings = Vec::new();
    let share = f64::from(p.first) / f64::from(decided);
    let message = format!("the seat that moves first won {} of {decided} decided random games", p.first);
    let unbalanced = flaw("unbalanced", "", &json!(share), "a share of 0.05 to 0.95", message);
    if share > 0.98 {
        issues.push(unbalanced);
    } else if !(0.05..=0.95).contains(&share) {
        warnings.push(unbalanced);
    }
    if p.capped * 2 > GAMES {
        let message = format!("the ply cap ended {} of {GAMES} random games", p.capped);
        warnings.push(flaw("capped", "/ply_cap", &json!(p.capped), "more plies, or another end", message));
    }
    warnings
}

/// Returns true if exchanging the seats and reversing the rows leaves the rules unchanged.
pub(super) fn symmetric(d: &Document) -> bool {
    let zones = zone_references(d);
    let pairs = zones.chunks_exact(2).all(|pair| match [&pair[0], &pair[1]].map(|p| zone(d, p.1)) {
        [Some(a), Some(b)] => mirrored(a) == b,
        _ => false,
    });
    let reflected = |s: &Setup| {
        let at = board::cells(mirrored(1 << s.at.0)).next().map(|c| c as u8);
        d.setup.iter().any(|o| Some(o.at.0) == at && o.owner != s.owner && (&o.kind, o.value) == (&s.kind, s.value))
    };
    let leaps = d.actions.iter().all(|a| match a {
        ActionRule::Move { steps: Steps::Leaps(list), .. } => {
            list.iter().all(|[r, c]| list.iter().any(|[a, b]| (a.0, b.0) == (-r.0, c.0)))
        }
        _ => true,
    });
    pairs && leaps && d.setup.iter().all(reflected)
}
