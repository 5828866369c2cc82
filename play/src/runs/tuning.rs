//! Data for fine-tuning language models, from the decisions of a run.
//!
//! A row has the prompt of a decision and, depending on the table, the reply ([`TuningTable::Sft`]), a better and a worse
//! reply ([`TuningTable::Dpo`]), or the facts by which a reply is scored ([`TuningTable::Grpo`]). Any agent may have made
//! the decision: prompts that no model was sent are written by [`Prompter`], in the words of evaluation. Equal runs and
//! settings give equal bytes.

mod decisions;
mod pairs;
mod provenance;
mod rows;
mod selection;
mod sent;
mod splits;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::{Context as _, ensure};
use ludex_agents::llm::Prompter;
use ludex_agents::search::move_values::MoveValueSearch;
use ludex_env::GameRef;
use ludex_protocol::spec::Params;
use ludex_referee::VerifiedRecord;
use ludex_report::runs::archive::Archive;
use ludex_report::tables::ColumnDoc;
use rayon::prelude::*;

use self::decisions::TunedDecision;
use self::provenance::WRITTEN;
use self::rows::TuningRow;
use self::selection::SeatSelection;
pub use self::splits::Split;

/// Table of fine-tuning data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuningTable {
    /// Conversations that end with the reply to imitate.
    Sft,
    /// Pairs of a better and a worse reply to one prompt.
    Dpo,
    /// Prompts with the facts by which a reply is scored.
    Grpo,
}

/// Selection of the decisions to export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionFilter {
    /// Decisions of winners. In games without winners, those of [`DecisionFilter::AboveMean`].
    Winners,
    /// Decisions of seats with a return above the mean of their game and seat.
    AboveMean,
    All,
}

/// Rule by which one of two moves in a position is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairRule {
    /// Move without the marks `missed_win` and `missed_block` instead of a move with one of them.
    Marks,
    /// Values of all legal moves, estimated by a search.
    Search,
    /// Accepted reply of a language model instead of a refused one.
    Refused,
}

/// Names of the fields of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldNames {
    /// Names that the trainers of TRL read, with provenance.
    Trl,
    /// Names of OpenAI's files, without other fields where the format has none.
    OpenAi,
}

/// Settings of an export.
#[derive(Clone, Debug)]
pub struct TuningSettings {
    pub table: TuningTable,
    pub decisions: DecisionFilter,
    pub pairs: PairRule,
    /// Number of simulations per decision, for [`PairRule::Search`].
    pub sims: u64,
    pub fields: FieldNames,
    /// Agent that made the decisions, with or without its variant; `None`: all.
    pub agent: Option<String>,
    /// Settings of the prompts that no model was sent: arguments of `llm`.
    pub prompt: Params,
    /// Share of the seeds whose rows are for validation, from 0 to 1.
    pub validation: f64,
    /// Rows to export; `None`: all, each with its split.
    pub split: Option<Split>,
}

/// Exported rows with their description.
pub struct TuningData {
    /// Rows as JSON Lines.
    pub text: String,
    /// Number of rows for training and for validation.
    pub rows: [usize; 2],
    pub columns: Vec<ColumnDoc>,
    /// Description of a row, as a sentence.
    pub about: &'static str,
    /// Messages about skipped decisions and rows.
    pub skipped: Vec<String>,
}

/// Match and the settings by which its decisions become rows.
struct TunedMatch<'r> {
    run: &'r Archive,
    game: &'r VerifiedRecord,
    settings: &'r TuningSettings,
    prompter: &'r Prompter,
    search: Option<&'r MoveValueSearch>,
}

/// Prompts of a game, and the search of its moves.
struct GameTools {
    prompter: Prompter,
    search: Option<MoveValueSearch>,
}

/// Writes the fine-tuning data of verified matches of a run.
///
/// # Errors
/// Returns an error for settings that a game does not support, for an unknown agent, and if no decision gives a row.
pub fn tune(run: &Archive, games: &[VerifiedRecord], settings: &TuningSettings) -> anyhow::Result<TuningData> {
    check(settings)?;
    let selection = SeatSelection::new(games, settings)?;
    let tools = tools(games, settings)?;
    let matches: Vec<TunedMatch> = games
        .iter()
        .map(|game| {
            let GameTools { prompter, search } = &tools[&game.spec().string];
            TunedMatch { run, game, settings, prompter, search: search.as_ref() }
        })
        .collect();
    let found: Vec<MatchRows> = matches.par_iter().map(|of| of.rows(&selection)).collect::<anyhow::Result<_>>()?;
    let unwritten: usize = found.iter().map(|found| found.unwritten).sum();
    let decisions: usize = found.iter().map(|found| found.decisions).sum();
    let mut rows: Vec<TuningRow> = found.into_iter().flat_map(|found| found.rows).collect();
    let shared = remove_shared_prompts(&mut rows);
    let skipped = [
        (unwritten, "decisions with a move that no reply of the requested form expresses"),
        (shared, "rows for validation with a prompt that is also in the training rows"),
    ];
    let skipped: Vec<String> = skipped.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
    rows.retain(|row| settings.split.is_none_or(|split| row.split() == split));
    if rows.is_empty() {
        let why = if skipped.is_empty() { String::new() } else { format!(" (skipped: {})", skipped.join(", ")) };
        anyhow::bail!("{}, got none from {decisions} decisions of {}{why}", expected(settings), run.about.run);
    }
    let of = |split| rows.iter().filter(|row| row.split() == split).count();
    Ok(TuningData {
        rows: [of(Split::Train), of(Split::Validation)],
        text: rows.iter().map(|row| Ok(row.line(settings.fields)? + "\n")).collect::<serde_json::Result<_>>()?,
        columns: rows::columns(settings.table, settings.fields),
        about: rows::about(settings.table),
        skipped,
    })
}

/// Removes the rows for validation whose prompt is also a prompt for training, as different seeds may lead to one
/// position. Returns their number.
fn remove_shared_prompts(rows: &mut Vec<TuningRow>) -> usize {
    let (before, train) = (rows.len(), |row: &TuningRow| row.split() == Split::Train);
    let known: HashSet<[u8; 32]> = rows.iter().filter(|row| train(row)).map(TuningRow::prompt_digest).collect();
    rows.retain(|row| train(row) || !known.contains(&row.prompt_digest()));
    before - rows.len()
}

fn check(settings: &TuningSettings) -> anyhow::Result<()> {
    let share = settings.validation;
    ensure!((0.0..=1.0).contains(&share), "--validation: expected a share from 0 to 1, got {share}");
    // Without a column, nothing would separate the rows.
    let has_column = settings.fields == FieldNames::Trl || settings.table == TuningTable::Grpo;
    ensure!(
        has_column || settings.split.is_some() || share == 0.0,
        "--split: expected train or validation with --fields openai, whose rows have no column for it; or --validation 0"
    );
    let method = settings.prompt.get("prompting").and_then(|method| method.as_str()).unwrap_or("prompt");
    ensure!(
        method == "prompt" || settings.table == TuningTable::Grpo,
        "--prompt prompting: expected prompt, got {method}; replies with reasoning cannot be written for moves"
    );
    Ok(())
}

/// Returns the beginning of the error for an export without rows.
fn expected(settings: &TuningSettings) -> &'static str {
    match (settings.table, settings.pairs) {
        (TuningTable::Dpo, PairRule::Marks) => {
            "--pairs marks: expected positions in which only some moves have the mark missed_win or missed_block"
        }
        (TuningTable::Dpo, PairRule::Refused) => "--pairs refused: expected refused replies of language models",
        (TuningTable::Dpo, PairRule::Search) => "--pairs search: expected positions with moves of different value",
        _ => "expected decisions that are selected by --decisions, --agent and --split",
    }
}

/// Prepares prompts and search for each game.
fn tools(games: &[VerifiedRecord], settings: &TuningSettings) -> anyhow::Result<BTreeMap<String, GameTools>> {
    let distinct: BTreeMap<&str, &GameRef> = games.iter().map(|of| (of.spec().string.as_str(), of.game())).collect();
    let searches = settings.table == TuningTable::Dpo && settings.pairs == PairRule::Search;
    let of = |(name, game): (&str, &GameRef)| -> anyhow::Result<(String, GameTools)> {
        let prompter =
            Prompter::from_settings(&settings.prompt, game).with_context(|| format!("--prompt for {name}"))?;
        let search = searches.then(|| MoveValueSearch::new(game, settings.sims)).transpose()?;
        Ok((name.to_owned(), GameTools { prompter, search }))
    };
    distinct.into_iter().map(of).collect()
}

/// Rows of a match.
#[derive(Default)]
struct MatchRows {
    rows: Vec<TuningRow>,
    /// Number of selected decisions.
    decisions: usize,
    /// Number of decisions whose move no reply expresses.
    unwritten: usize,
}

impl TunedMatch<'_> {
    fn rows(&self, selection: &SeatSelection) -> anyhow::Result<MatchRows> {
        let seats: BTreeSet<usize> = selection.seats(self.game).collect();
        let mut out = MatchRows::default();
        self.each_decision(&seats, |decision| {
            out.decisions += 1;
            match self.settings.table {
                TuningTable::Sft => match self.imitated(decision)? {
                    Some(row) => out.rows.push(row),
                    None => out.unwritten += 1,
                },
                TuningTable::Dpo => out.rows.extend(self.paired(decision)?),
                TuningTable::Grpo => out.rows.push(self.scored(decision)?),
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Returns the row of a decision to imitate: the prompt that was sent and the reply that was played or, without a
    /// stored call, the written ones. `None` if the move cannot be written as a reply.
    fn imitated(&self, decision: &TunedDecision) -> anyhow::Result<Option<TuningRow>> {
        if let Some(sent) = self.played_call(decision) {
            let metadata = self.metadata(decision, sent.source);
            return Ok(Some(TuningRow::sft(sent.call.messages.clone(), sent.call.answer.clone(), metadata)));
        }
        let ask = decision.ask();
        let Some(reply) = decision.played().and_then(|mv| self.prompter.write(&ask, &mv)) else { return Ok(None) };
        let messages = self.prompter.messages(&ask)?;
        Ok(Some(TuningRow::sft(messages, reply, self.metadata(decision, WRITTEN))))
    }

    /// Returns the row by which replies to a decision's prompt are scored.
    fn scored(&self, decision: &TunedDecision) -> anyhow::Result<TuningRow> {
        let ask = decision.ask();
        let facts = decision.facts(self.prompter.legal(&ask));
        Ok(TuningRow::grpo(self.prompter.messages(&ask)?, facts, self.metadata(decision, WRITTEN)))
    }
}
