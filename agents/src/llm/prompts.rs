//! Prompts: templates filled with the game's manual and the move request. Templates contain no game-specific text.

use std::collections::BTreeMap;

use ludex_env::dyn_state::DynView;
use ludex_env::{GameRef, Issue, MoveRequest, PriorAttempt};
use ludex_protocol::call::{ChatMessage, ChatRole};
use ludex_protocol::{Move, Refusal};
use minijinja::{Value, context};
use serde_json::json;

use super::chat;
use super::manual::{PlayerManual, has_phases};
use super::position::{self, LegalMoveList};
use super::relabel::Relabel;
use super::settings::Wording;
use super::templates::{TEMPLATES, render};
use crate::error::AgentError;
use crate::refusal::bad_value;

/// Strategy advice for some games.
const HINTS: &[(&str, &str)] = &[
    ("breakthrough", include_str!("../../prompts/hints/breakthrough.md")),
    ("connect_four", include_str!("../../prompts/hints/connect_four.md")),
    ("gomoku", include_str!("../../prompts/hints/gomoku.md")),
    ("nim", include_str!("../../prompts/hints/nim.md")),
    ("reversi", include_str!("../../prompts/hints/reversi.md")),
    ("tic_tac_toe", include_str!("../../prompts/hints/tic_tac_toe.md")),
];

/// Task of a model call, which determines the last part of its prompt.
pub(super) struct Task {
    /// File name of the template for the last part.
    pub(super) template: &'static str,
    /// Expected contents of the model's reply.
    pub(super) wants: AnswerKind,
    /// Additional variables of the template.
    pub(super) more: Value,
}

/// Expected contents of a model's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// The move without reasoning.
    Move,
    /// Reasoning and the move.
    Reasoned,
    /// Situation, reasons and move, in three parts.
    Parts,
    /// Free text without a move.
    Words,
}

/// Prompts of one agent for one game.
pub(super) struct Prompts {
    pub(super) wording: Wording,
    pub(super) game: GameRef,
    page: PlayerManual,
    /// Manuals by kind of the requested document; empty if the manual does not depend on the kind.
    pages: BTreeMap<String, PlayerManual>,
    hints: &'static str,
    /// Other names for the board.
    pub(super) names: Option<Relabel>,
}

impl Prompts {
    /// Prepares the prompts for a game.
    ///
    /// # Errors
    /// Hints requested for a game without hints, or `swap` or `relabel` for a game without a plain board.
    pub(super) fn new(wording: Wording, game: &GameRef) -> Result<Self, Refusal> {
        let id = game.id();
        let hints = HINTS.iter().find(|(name, _)| *name == id).map(|(_, text)| text.trim());
        if wording.hints && hints.is_none() {
            let known: Vec<&str> = HINTS.iter().map(|(name, _)| *name).collect();
            let allowed = format!("false for {id}; games with hints: {}", known.join(", "));
            return Err(bad_value("hints", "true", &allowed));
        }
        if wording.swap {
            let view = game.start().view(ludex_env::Viewer::Seat(0));
            if position::transpose_board(&view.drawing(ludex_env::Viewer::Public)).is_none() {
                let allowed = format!("false for {id}, whose board is not a plain grid of rows and columns");
                return Err(bad_value("swap", "true", &allowed));
            }
        }
        let names = (wording.relabel > 0).then(|| Relabel::new(game, wording.relabel)).transpose()?;
        let page = PlayerManual::new(game, wording.rules, "")?;
        let mut pages = BTreeMap::new();
        for asked in game.spec().document_schemas.iter().flat_map(|all| all.keys()).filter(|_| has_phases(game)) {
            let own = PlayerManual::new(game, wording.rules, asked)?;
            if own != page {
                pages.insert(asked.clone(), own);
            }
        }
        let hints = hints.filter(|_| wording.hints).unwrap_or_default();
        Ok(Prompts { wording, game: game.clone(), page, pages, hints, names })
    }

    /// Returns the messages of a call. `schema` is true if the reply is requested as JSON.
    pub(super) fn messages(
        &self,
        ask: &MoveRequest<'_>,
        view: &dyn DynView,
        task: &Task,
        schema: bool,
    ) -> Result<Vec<ChatMessage>, AgentError> {
        let wants_move = task.wants != AnswerKind::Words;
        let page = self.page_of(ask, view);
        let form = if wants_move { self.form(page, task.wants, schema)? } else { String::new() };
        let system = self.system(page, &form)?;
        let question = self.question(ask, view)?;
        let last = render(task.template, &context! { phrasing => self.wording.phrasing, ..task.more.clone() })?;
        let user = format!("{question}\n\n{last}");
        Ok(if self.wording.system {
            let mut all = vec![ChatMessage::new(ChatRole::System, system)];
            all.extend(self.wording.memory.map(|most| chat::before(ask, most)).unwrap_or_default());
            all.push(ChatMessage::new(ChatRole::User, user));
            all
        } else {
            vec![ChatMessage::new(ChatRole::User, format!("{system}\n\n## The question\n\n{user}"))]
        })
    }

    /// Returns the JSON schema of a reply. `document` is the schema of a document that the seat may submit.
    pub(super) fn schema(&self, wants: AnswerKind, document: Option<serde_json::Value>) -> serde_json::Value {
        let mut fields = serde_json::Map::new();
        let thoughts: &[&str] = match wants {
            AnswerKind::Reasoned => &["reason"],
            AnswerKind::Parts => &["situation", "reasons"],
            AnswerKind::Move | AnswerKind::Words => &[],
        };
        for name in thoughts {
            fields.insert((*name).into(), json!({ "type": "string" }));
        }
        if self.wording.emotion {
            fields.insert("emotion".into(), json!({ "type": "string", "enum": ["A", "B", "C", "D", "E"] }));
            fields.insert("analysis".into(), json!({ "type": "string" }));
        }
        let text = json!({ "type": "string" });
        let kind = if let Some(document) = document { json!({ "anyOf": [text, document] }) } else { text };
        fields.insert("move".into(), kind);
        let required: Vec<&String> = fields.keys().collect();
        json!({ "type": "object", "required": required, "additionalProperties": false, "properties": fields })
    }

    /// Returns the text of all prompt inputs except the move request, for a digest.
    pub(super) fn sources(&self) -> String {
        let PlayerManual { rules, actions, encoding, otherwise, .. } = &self.page;
        let templates: Vec<&str> = TEMPLATES.iter().map(|(_, source)| *source).collect();
        let parameters = self.page.parameters.join("\n");
        let first = position::text(&*self.game.start().view(ludex_env::Viewer::Seat(0)), self.wording.swap);
        let mut parts: Vec<&str> = vec![rules, actions, encoding, otherwise, &parameters, self.hints, &first];
        parts.extend(
            self.pages
                .values()
                .flat_map(|page| [&page.rules, &page.actions, &page.encoding, &page.otherwise])
                .map(String::as_str),
        );
        format!("{:?}\n{}\n{}", self.wording, parts.join("\n"), templates.join("\n"))
    }

    fn form(&self, page: &PlayerManual, wants: AnswerKind, schema: bool) -> Result<String, AgentError> {
        let Wording { emotion, legal, .. } = self.wording;
        let (explain, parts) = (wants == AnswerKind::Reasoned, wants == AnswerKind::Parts);
        let (otherwise, described) = (page.otherwise.as_str(), !page.actions.is_empty());
        render("form.j2", &context! { explain, parts, schema, emotion, legal, otherwise, described })
    }

    /// Returns the manual for the kind of document that `ask` requests.
    fn page_of(&self, ask: &MoveRequest<'_>, view: &dyn DynView) -> &PlayerManual {
        if self.pages.is_empty() {
            return &self.page;
        }
        let world = view.world(&mut ask.stream());
        world.schema(ask.seat).and_then(|asked| self.pages.get(asked)).unwrap_or(&self.page)
    }

    fn system(&self, page: &PlayerManual, form: &str) -> Result<String, AgentError> {
        let spec = self.game.spec();
        let all = context! {
            title => spec.title.as_str(),
            rules => page.rules.as_str(),
            actions => page.actions.as_str(),
            encoding => page.encoding.as_str(),
            swap => self.wording.swap,
            seats => spec.seats.clone(),
            manual => !self.game.info().manual.is_empty(),
            chat => self.wording.memory.is_some(),
            parameters => page.parameters.clone(),
            hints => self.hints,
            names => self.names.as_ref().map(Relabel::explanation),
            phrasing => self.wording.phrasing,
            form,
        };
        render("system.j2", &all)
    }

    /// Returns the part of the user message before the request of the method.
    pub(super) fn question(&self, ask: &MoveRequest<'_>, view: &dyn DynView) -> Result<String, AgentError> {
        let w = &self.wording;
        let names = self.names.as_ref();
        let prose = |text: String| names.map_or_else(|| text.clone(), |names| names.prose(&text));
        let history = if w.history > 0 { position::history(&self.game, ask, view, w.history) } else { Vec::new() };
        let history: Vec<String> = history.into_iter().map(prose).collect();
        let LegalMoveList { moves: legal, explained, patterns } =
            if w.legal { position::legal(ask, view, names) } else { LegalMoveList::default() };
        let attempts: Vec<Value> = ask.attempts().iter().map(|a| attempt(a, names)).collect();
        let spoke = ask.attempts().iter().any(|a| matches!(a.given, Some(Move::Document(_))) || !a.issues.is_empty());
        let document = if spoke { position::schema(ask, view).map(|schema| schema.to_string()) } else { None };
        let all = context! {
            seat => prose(position::seat_name(view, ask.seat)),
            together => position::is_simultaneous(ask, view),
            turn => u64::from(ask.turn) + 1,
            position => names.map_or_else(|| position::text(view, w.swap), |names| names.board(&position::text(view, w.swap))),
            phrasing => w.phrasing,
            history,
            legal,
            explained,
            patterns,
            attempts,
            document,
            spoke,
        };
        render("question.j2", &all)
    }
}

/// Maximum number of issues that a prompt lists for a refused document.
const ISSUES: usize = 10;

/// Returns a refused attempt as template variables: the submitted text, the reason, and the issues with a document.
fn attempt(a: &PriorAttempt, names: Option<&Relabel>) -> Value {
    let one = |issue: &Issue| {
        let part = |name: &str, value: &Option<serde_json::Value>| {
            value.as_ref().map(|value| format!("; {name} {value}")).unwrap_or_default()
        };
        let at = if issue.path.is_empty() { "the document" } else { &issue.path };
        format!("{at}: {}{}{}", issue.message, part("got", &issue.got), part("allowed", &issue.allowed))
    };
    let issues: Vec<String> = a.issues.iter().take(ISSUES).map(one).collect();
    let more = a.issues.len().saturating_sub(ISSUES);
    // A reason that already quotes the text needs no second quotation.
    let said = Some(a.text()).filter(|said| !a.why.contains(said.as_str()));
    let renamed = |text: String| names.map_or_else(|| text.clone(), |names| names.prose(&text));
    context! { said => said.map(renamed), why => renamed(a.why.clone()), issues, more }
}
