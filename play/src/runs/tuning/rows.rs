//! Rows of fine-tuning data in the fields of their formats.

use ludex_env::{Action, Seat};
use ludex_protocol::call::{ChatMessage, ChatRole};
use ludex_report::tables::{ColumnDoc, columns as columns_of};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::provenance::{PairNotes, RowMetadata};
use super::splits::Split;
use super::{FieldNames, TuningTable};

/// Row before it is written in the fields of a format.
pub(super) struct TuningRow {
    prompt: Vec<ChatMessage>,
    content: RowContent,
    metadata: RowMetadata,
}

/// Content of a row after its prompt.
enum RowContent {
    Sft { reply: String },
    Dpo { chosen: String, rejected: String },
    Grpo(Box<GrpoFacts>),
}

/// Facts by which replies to a prompt are scored.
pub(super) struct GrpoFacts {
    pub(super) seat: Seat,
    pub(super) history: String,
    pub(super) legal: Option<Vec<Action>>,
    pub(super) names: Option<Vec<String>>,
    pub(super) reference_action: Option<Action>,
    pub(super) reference_move: Option<String>,
    pub(super) reference_return: f64,
}

/// Message of a row.
#[derive(Serialize)]
struct RowMessage<'a> {
    role: ChatRole,
    content: &'a str,
    /// Weight of an earlier reply in the loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u8>,
}

/// Conversation of a decision.
#[derive(Serialize, JsonSchema)]
struct SftRow<'a> {
    /// the prompt and the reply; with --fields openai, earlier replies of a conversation have the weight 0
    #[schemars(with = "Vec<Value>")]
    messages: Vec<RowMessage<'a>>,
    /// train or validation, by the seed of the match
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<&'static str>,
    /// provenance of the row, see below
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Map<String, Value>")]
    metadata: Option<&'a RowMetadata>,
}

/// Pair for the DPO trainer of TRL.
#[derive(Serialize, JsonSchema)]
struct DpoRow<'a> {
    /// messages of the prompt
    #[schemars(with = "Vec<Value>")]
    prompt: Vec<RowMessage<'a>>,
    /// message with the better reply
    #[schemars(with = "Vec<Value>")]
    chosen: [RowMessage<'a>; 1],
    /// message with the worse reply
    #[schemars(with = "Vec<Value>")]
    rejected: [RowMessage<'a>; 1],
    /// train or validation, by the seed of the match
    split: &'static str,
    /// provenance of the row, see below
    #[schemars(with = "serde_json::Map<String, Value>")]
    metadata: &'a RowMetadata,
}

/// Pair for OpenAI's preference fine-tuning.
#[derive(Serialize, JsonSchema)]
struct PreferenceRow<'a> {
    /// object with the messages of the prompt
    #[schemars(with = "serde_json::Map<String, Value>")]
    input: PreferenceInput<'a>,
    /// message with the better reply
    #[schemars(with = "Vec<Value>")]
    preferred_output: [RowMessage<'a>; 1],
    /// message with the worse reply
    #[schemars(with = "Vec<Value>")]
    non_preferred_output: [RowMessage<'a>; 1],
}

/// Prompt of a pair in OpenAI's format.
#[derive(Serialize)]
struct PreferenceInput<'a> {
    messages: Vec<RowMessage<'a>>,
}

/// Prompt with the facts by which replies are scored.
#[derive(Serialize, JsonSchema)]
struct GrpoRow<'a> {
    /// messages of the prompt
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Value>")]
    prompt: Option<Vec<RowMessage<'a>>>,
    /// messages of the prompt
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Value>")]
    messages: Option<Vec<RowMessage<'a>>>,
    /// game with its parameters
    game: &'a str,
    /// seed of the match, decimal
    seed: &'a str,
    /// index of the seat to move, from 0
    seat: Seat,
    /// JSON: earlier moves and outcomes, as in snapshots: pairs of a mover (a seat, -1 for chance, -2 for a joint move) and a move
    history: &'a str,
    /// ids of the legal actions, ascending; absent if there are more than 1,000
    #[schemars(with = "Vec<Value>")]
    legal: Option<&'a [Action]>,
    /// texts of the legal actions in the prompt, in the same order
    #[schemars(with = "Vec<Value>")]
    names: Option<&'a [String]>,
    /// id of the played action; absent for a document
    reference_action: Option<Action>,
    /// played move: its text in the prompt, or a document as JSON
    reference_move: Option<&'a str>,
    /// return of the seat in the match after the played move, in the game's points
    reference_return: f64,
    /// train or validation, by the seed of the match
    split: &'static str,
    /// provenance of the row, see below
    #[schemars(with = "serde_json::Map<String, Value>")]
    metadata: &'a RowMetadata,
}

impl TuningRow {
    /// Creates a row with a reply to imitate.
    pub(super) fn sft(prompt: Vec<ChatMessage>, reply: String, metadata: RowMetadata) -> TuningRow {
        TuningRow { prompt, content: RowContent::Sft { reply }, metadata }
    }

    /// Creates a row with a better and a worse reply.
    pub(super) fn dpo(prompt: Vec<ChatMessage>, chosen: String, rejected: String, metadata: RowMetadata) -> TuningRow {
        TuningRow { prompt, content: RowContent::Dpo { chosen, rejected }, metadata }
    }

    /// Creates a row with the facts by which replies are scored.
    pub(super) fn grpo(prompt: Vec<ChatMessage>, facts: GrpoFacts, metadata: RowMetadata) -> TuningRow {
        TuningRow { prompt, content: RowContent::Grpo(Box::new(facts)), metadata }
    }

    pub(super) fn split(&self) -> Split {
        self.metadata.split
    }

    /// Returns the SHA-256 of the prompt.
    pub(super) fn prompt_digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for message in &self.prompt {
            hash.update(format!("{} {} {}\n", message.role, message.content.len(), message.content));
        }
        hash.finalize().into()
    }

    /// Formats the row as a line of JSON, without the line break.
    pub(super) fn line(&self, fields: FieldNames) -> serde_json::Result<String> {
        let (split, metadata) = (self.split().name(), &self.metadata);
        let has_notes = fields == FieldNames::Trl;
        match &self.content {
            RowContent::Sft { reply } => {
                let mut messages = self.messages();
                if fields == FieldNames::OpenAi {
                    let replies = messages.iter_mut().filter(|message| message.role == ChatRole::Assistant);
                    replies.for_each(|message| message.weight = Some(0));
                }
                messages.push(reply_message(reply));
                let (split, metadata) = (has_notes.then_some(split), has_notes.then_some(metadata));
                serde_json::to_string(&SftRow { messages, split, metadata })
            }
            RowContent::Dpo { chosen, rejected } => {
                let (prompt, chosen, rejected) = (self.messages(), [reply_message(chosen)], [reply_message(rejected)]);
                if has_notes {
                    return serde_json::to_string(&DpoRow { prompt, chosen, rejected, split, metadata });
                }
                let input = PreferenceInput { messages: prompt };
                serde_json::to_string(&PreferenceRow {
                    input,
                    preferred_output: chosen,
                    non_preferred_output: rejected,
                })
            }
            RowContent::Grpo(facts) => serde_json::to_string(&GrpoRow {
                prompt: has_notes.then(|| self.messages()),
                messages: (!has_notes).then(|| self.messages()),
                game: &metadata.game,
                seed: &metadata.seed,
                seat: facts.seat,
                history: &facts.history,
                legal: facts.legal.as_deref(),
                names: facts.names.as_deref(),
                reference_action: facts.reference_action,
                reference_move: facts.reference_move.as_deref(),
                reference_return: facts.reference_return,
                split,
                metadata,
            }),
        }
    }

    fn messages(&self) -> Vec<RowMessage<'_>> {
        self.prompt
            .iter()
            .map(|ChatMessage { role, content }| RowMessage { role: *role, content, weight: None })
            .collect()
    }
}

/// Returns the message of a reply.
fn reply_message(reply: &str) -> RowMessage<'_> {
    RowMessage { role: ChatRole::Assistant, content: reply, weight: None }
}

/// Returns the columns of a table's rows. Fields of `metadata` have a point in their names.
pub(super) fn columns(table: TuningTable, fields: FieldNames) -> Vec<ColumnDoc> {
    let is_openai = fields == FieldNames::OpenAi;
    let own = match table {
        TuningTable::Sft => columns_of::<SftRow>(),
        TuningTable::Dpo if is_openai => return columns_of::<PreferenceRow>(),
        TuningTable::Dpo => columns_of::<DpoRow>(),
        TuningTable::Grpo => columns_of::<GrpoRow>(),
    };
    let absent: &[&str] = match (table, is_openai) {
        (TuningTable::Sft, true) => return own.into_iter().filter(|column| column.name == "messages").collect(),
        (TuningTable::Grpo, true) => &["prompt"],
        (TuningTable::Grpo, false) => &["messages"],
        _ => &[],
    };
    let within = |place: &'static str, all: Vec<ColumnDoc>| {
        all.into_iter().map(move |column| ColumnDoc { name: format!("{place}.{}", column.name), ..column })
    };
    let pair = if table == TuningTable::Dpo { columns_of::<PairNotes>() } else { Vec::new() };
    let own = own.into_iter().filter(|column| !absent.contains(&column.name.as_str()));
    own.chain(within("metadata", columns_of::<RowMetadata>())).chain(within("metadata.pair", pair)).collect()
}

/// Returns the description of a table's rows.
pub(super) const fn about(table: TuningTable) -> &'static str {
    match table {
        TuningTable::Sft => {
            "One row is one decision of a seat as a conversation that ends with its reply. Decisions of agents without a \
             language model have the prompt that a model would have been sent."
        }
        TuningTable::Dpo => "One row is a better and a worse reply to the prompt of one decision.",
        TuningTable::Grpo => {
            "One row is the prompt of one decision with the position, the legal moves, the played move and its return, by which \
             new replies are scored."
        }
    }
}
