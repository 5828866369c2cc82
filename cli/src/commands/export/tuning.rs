//! Arguments for fine-tuning data.

use anyhow::Context as _;
use clap::ValueEnum;
use ludex_play::runs::tuning::{DecisionFilter, FieldNames, PairRule, Split, TuningSettings, TuningTable};
use ludex_protocol::spec::Params;

use super::ExportTable;
use super::run::word;

#[derive(clap::Args)]
#[command(next_help_heading = "Fine-tuning data (--table sft, dpo, grpo)")]
pub(super) struct TuningArgs {
    /// Export decisions of winners (in games without winners, of above-mean), of seats with a return above the mean of their game
    /// and seat, or all [default: winners for sft, else all]
    #[arg(long, value_enum)]
    decisions: Option<Decisions>,
    /// Export decisions of this agent only
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Choose the better move of a pair by marks of mistakes, by a search, or as the reply that was accepted after a refusal
    /// [default: search]
    #[arg(long, value_enum)]
    pairs: Option<Pairs>,
    /// Search each position with this number of simulations [default: 1000]
    #[arg(long, value_name = "N")]
    sims: Option<u64>,
    /// Write prompts with this setting: an argument of llm agents such as legal=false; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    prompt: Vec<String>,
    /// Set this share of the seeds apart for validation, 0 to 1 [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    validation: Option<f64>,
    /// Export only rows of this split [default: both, with a column]
    #[arg(long, value_enum)]
    split: Option<SplitName>,
    /// Name the fields as TRL or as OpenAI's fine-tuning reads them [default: trl]
    #[arg(long, value_enum)]
    fields: Option<Fields>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Decisions {
    Winners,
    AboveMean,
    All,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Pairs {
    Marks,
    Search,
    Refused,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SplitName {
    Train,
    Validation,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Fields {
    Trl,
    Openai,
}

impl ExportTable {
    /// Returns the table of fine-tuning data; `None` for other tables.
    pub(super) fn tuning(self) -> Option<TuningTable> {
        match self {
            ExportTable::Sft => Some(TuningTable::Sft),
            ExportTable::Dpo => Some(TuningTable::Dpo),
            ExportTable::Grpo => Some(TuningTable::Grpo),
            _ => None,
        }
    }
}

impl TuningArgs {
    /// Returns true if the command line has any of these arguments.
    pub(super) fn is_given(&self) -> bool {
        !self.words().is_empty()
    }

    /// Returns the words of these arguments on the command line.
    pub(super) fn words(&self) -> Vec<String> {
        fn choice<T: ValueEnum + Copy>(given: Option<T>) -> Option<String> {
            given.map(word)
        }
        let all = [
            ("--decisions", choice(self.decisions)),
            ("--agent", self.agent.clone()),
            ("--pairs", choice(self.pairs)),
            ("--sims", self.sims.map(|n| n.to_string())),
            ("--validation", self.validation.map(|share| share.to_string())),
            ("--split", choice(self.split)),
            ("--fields", choice(self.fields)),
        ];
        let given = all.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
        let prompt = self.prompt.iter().map(|setting| ["--prompt".to_owned(), setting.clone()]);
        given.chain(prompt).flatten().collect()
    }

    /// Returns the settings of the export.
    ///
    /// # Errors
    /// Returns an error for a prompt setting without a value.
    pub(super) fn settings(&self, table: TuningTable) -> anyhow::Result<TuningSettings> {
        let setting = |text: &String| {
            let (name, value) =
                text.split_once('=').with_context(|| format!("--prompt: expected NAME=VALUE, got {text}"))?;
            Ok((name.to_owned(), value.into()))
        };
        Ok(TuningSettings {
            table,
            decisions: match self.decisions {
                Some(Decisions::Winners) => DecisionFilter::Winners,
                Some(Decisions::AboveMean) => DecisionFilter::AboveMean,
                None if table == TuningTable::Sft => DecisionFilter::Winners,
                Some(Decisions::All) | None => DecisionFilter::All,
            },
            pairs: match self.pairs {
                Some(Pairs::Marks) => PairRule::Marks,
                Some(Pairs::Refused) => PairRule::Refused,
                Some(Pairs::Search) | None => PairRule::Search,
            },
            sims: self.sims.unwrap_or(1000),
            fields: match self.fields {
                Some(Fields::Openai) => FieldNames::OpenAi,
                Some(Fields::Trl) | None => FieldNames::Trl,
            },
            agent: self.agent.clone(),
            prompt: self.prompt.iter().map(setting).collect::<anyhow::Result<Params>>()?,
            validation: self.validation.unwrap_or(0.1),
            split: self.split.map(|split| match split {
                SplitName::Train => Split::Train,
                SplitName::Validation => Split::Validation,
            }),
        })
    }
}
