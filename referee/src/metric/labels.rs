//! Labels assigned to decisions by people or a judge model.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ludex_env::MarkValue;

use super::selection::word;
use super::{Args, Metric, ParamDef, Takes, Value, number, share_of};
use crate::result::SeatMark;
use crate::rows::Rows;

/// Name of the marks with the labels of an imported table, and start of the names of the marks of a rubric
/// ([`label_mark`]).
pub const LABEL: &str = "label";

/// Label of a decision to which labelers assigned no label. No rubric has this label.
pub const NO_LABEL: &str = "none";

/// Value of the argument `is` for decisions with any label.
pub const ANY_LABEL: &str = "any";

/// Share of each label among the labeled decisions. A decision may have several labels.
///
/// Source: GTBench, table 4 (its error classes).
pub const LABELS: Metric = Metric {
    id: "labels",
    title: "Labels",
    unit: "share of decisions",
    formula: "decisions with the label / decisions with at least one label; among = all: / all labeled decisions, with those to which \
        no label applies; Wilson interval",
    source: "GTBench",
    params: &[
        ParamDef::new("rubric", "none", Takes::Text, "rubric of the suite; none: all labels"),
        ParamDef::new("is", "none", Takes::Text, "counted label, or any; none: a share for each label"),
        ParamDef::new("among", "labels", Takes::Words(&["labels", "all"]), "decisions in the denominator"),
    ],
    marks: &[LABEL],
    of: labels,
    ..Metric::DEFAULT
};

/// Creates the mark of a label of a rubric.
pub fn label_mark(rubric: &str, label: &str, turn: u32) -> SeatMark {
    SeatMark { name: Cow::Owned(format!("{LABEL}:{rubric}")), value: MarkValue::Text(label.to_owned()), turn }
}

/// Decisions, as (match, seat, turn).
type Decisions = BTreeSet<(usize, usize, u32)>;

fn labels(rows: &Rows, args: &Args) -> Option<Value> {
    let mut rubrics: BTreeMap<&str, BTreeMap<String, Decisions>> = BTreeMap::new();
    let own = rows.own_matches();
    for (k, (game, seats)) in own.iter().enumerate() {
        let marks = seats.iter().flat_map(|&seat| game.seats[seat].marks.iter().map(move |mark| (seat, mark)));
        for (seat, mark) in marks {
            let Some(rest) = mark.name.strip_prefix(LABEL) else { continue };
            let Some(rubric) = rest.strip_prefix(':').or(rest.is_empty().then_some("")) else { continue };
            if args.get("rubric").is_none_or(|wanted| wanted == rubric) {
                let labels = rubrics.entry(rubric).or_default();
                labels.entry(word(&mark.value)).or_default().insert((k, seat, mark.turn));
            }
        }
    }
    let counted = |labels: &BTreeMap<String, Decisions>| {
        let of = labels.iter().filter(|(label, _)| args.is("among", "all") || *label != NO_LABEL);
        of.flat_map(|(_, of)| of).copied().collect::<Decisions>()
    };
    if let Some(wanted) = args.get("is") {
        let (mut hits, mut n) = (0, 0);
        for labels in rubrics.values() {
            n += counted(labels).len();
            let with = |label: &str| if wanted == ANY_LABEL { label != NO_LABEL } else { label == wanted };
            let of = labels.iter().filter(|(label, _)| with(label)).flat_map(|(_, of)| of);
            hits += of.collect::<BTreeSet<_>>().len();
        }
        return number(share_of(hits as u64, n as u64));
    }
    let mut shares = Vec::new();
    for (rubric, labels) in &rubrics {
        let n = counted(labels).len() as u64;
        for (label, of) in labels.iter().filter(|(label, _)| args.is("among", "all") || *label != NO_LABEL) {
            let name = if rubrics.len() > 1 { format!("{rubric}: {label}") } else { label.clone() };
            shares.extend(share_of(of.len() as u64, n).map(|share| (name, share)));
        }
    }
    (!shares.is_empty()).then_some(Value::Shares(shares))
}
