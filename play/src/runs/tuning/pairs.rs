//! Pairs of a better and a worse reply to one prompt.

use std::collections::BTreeSet;

use ludex_agents::search::move_values::MoveValueSearch;
use ludex_env::marks::MarkValue;
use ludex_env::{Action, DynState, Marks, ParsedMove, Stream, ToMove};

use super::decisions::TunedDecision;
use super::provenance::{PairNotes, WRITTEN};
use super::rows::TuningRow;
use super::sent::SentCall;
use super::{PairRule, TunedMatch};

/// Marks of mistakes, worst first: with the value 1, a better move was available.
const MISTAKES: [&str; 2] = ["missed_win", "missed_block"];

/// Two moves in a position, one better than the other by a rule.
struct MovePair {
    better: Action,
    worse: Action,
    rule: &'static str,
    /// Estimated values of the better and the worse move.
    values: Option<[f64; 2]>,
}

impl TunedMatch<'_> {
    /// Returns the pairs of a decision: at most one by marks or search, and one for each refused reply.
    pub(super) fn paired(&self, decision: &TunedDecision) -> anyhow::Result<Vec<TuningRow>> {
        let pair = match (self.settings.pairs, decision.record.action) {
            (PairRule::Refused, _) => return Ok(self.refused_pairs(decision)),
            (PairRule::Marks, Some(played)) => self.pair_by_marks(decision, played),
            (PairRule::Search, Some(played)) => {
                self.search.and_then(|search| self.pair_by_search(search, decision, played))
            }
            (_, None) => None,
        };
        let Some(MovePair { better, worse, rule, values }) = pair else { return Ok(Vec::new()) };
        let ask = decision.ask();
        let write = |a: Action| self.prompter.write(&ask, &ParsedMove::Action(a));
        let Some((chosen, rejected)) = write(better).zip(write(worse)) else { return Ok(Vec::new()) };
        let text = |a: Action| ask.view().action_text(decision.seat, a);
        let notes = PairNotes {
            rule,
            chosen: Some(text(better)),
            rejected: Some(text(worse)),
            chosen_value: values.map(|[better, _]| better),
            rejected_value: values.map(|[_, worse]| worse),
        };
        let metadata = self.metadata(decision, WRITTEN).with_pair(notes);
        Ok(vec![TuningRow::dpo(self.prompter.messages(&ask)?, chosen, rejected, metadata)])
    }

    /// Pairs each refused reply with the accepted one, under the prompt that the refused reply answers.
    fn refused_pairs(&self, decision: &TunedDecision) -> Vec<TuningRow> {
        let Some((refused, played)) = self.refused_calls(decision) else { return Vec::new() };
        let row = |sent: SentCall| {
            let (chosen, rejected) = (played.call.answer.clone(), sent.call.answer.clone());
            let notes = PairNotes { rule: "refused", chosen: played.call.read.clone(), ..PairNotes::default() };
            let metadata = self.metadata(decision, sent.source).with_pair(notes);
            TuningRow::dpo(sent.call.messages.clone(), chosen, rejected, metadata)
        };
        refused.into_iter().map(row).collect()
    }

    /// Pairs the played move with a drawn move that has a mark of a mistake or, if the played move has one, with a drawn
    /// move that has none.
    fn pair_by_marks(&self, decision: &TunedDecision, played: Action) -> Option<MovePair> {
        let known = self.game.game().marks_docs();
        if !MISTAKES.iter().all(|name| known.iter().any(|doc| doc.name == *name)) {
            return None;
        }
        let own = mistake(decision.state, decision.seat, played);
        let mut others = decision.legal.iter().copied().filter(|&a| a != played).collect::<Vec<_>>();
        self.shuffle(decision, &mut others);
        let mut marked = others.into_iter().map(|a| (a, mistake(decision.state, decision.seat, a)));
        let (better, worse, rule) = match own {
            Some(rule) => (marked.find(|(_, other)| other.is_none())?.0, played, rule),
            None => marked.find_map(|(a, other)| Some((played, a, other?)))?,
        };
        Some(MovePair { better, worse, rule, values: None })
    }

    /// Pairs the best move of a search with the played move if it is worse. If the played move is the best one, pairs it
    /// with a drawn worse move. Positions in which several seats move have no best move.
    fn pair_by_search(&self, search: &MoveValueSearch, decision: &TunedDecision, played: Action) -> Option<MovePair> {
        if decision.legal.len() < 2 || !matches!(decision.state.turn(), ToMove::Seat(_)) {
            return None;
        }
        let found = search.values(&decision.ask());
        let best = *found.best()?;
        let mut worse: Vec<Action> = if best.action == played { decision.legal.clone() } else { vec![played] };
        self.shuffle(decision, &mut worse);
        let worse = worse.into_iter().filter_map(|a| found.of(a)).find(|other| found.is_better(&best, other))?;
        let values = Some([best.mean, worse.mean]);
        Some(MovePair { better: best.action, worse: worse.action, rule: "search", values })
    }

    /// Shuffles moves by a stream that belongs to the decision.
    fn shuffle(&self, decision: &TunedDecision, moves: &mut [Action]) {
        let (episode, turn) = (&self.game.record().header.episode, decision.record.turn);
        let mut rng = Stream::from_text(&format!("ludex.v1:tuning-pair:{episode}:{}:{turn}", decision.seat));
        for k in (1..moves.len()).rev() {
            moves.swap(k, rng.below(k + 1));
        }
    }
}

/// Returns the worst mark of a mistake that a move of a seat has.
fn mistake(state: &dyn DynState, seat: usize, a: Action) -> Option<&'static str> {
    let mut after = state.boxed();
    after.play(seat, a).ok()?;
    let names: BTreeSet<String> = MISTAKES.map(str::to_owned).into();
    let mut marks = Marks::only(&names);
    let mut joint = vec![None; state.spec().players as usize];
    joint[seat] = Some(ParsedMove::Action(a));
    state.marks(&joint, &*after, &mut marks);
    let made = marks.take();
    MISTAKES.into_iter().find(|name| made.iter().any(|mark| mark.name == *name && mark.value == MarkValue::Number(1.0)))
}
