//! Settings of the checked matches, and requirements on their first and last messages.

use ludex_protocol::message::{Join, MatchEnd, MatchStart, Welcome};
use ludex_protocol::record::{Clock, EndReason, IllegalMoveRules, Outcome};
use ludex_protocol::spec::{Dynamics, Information, Spec, Utility};

use super::super::bench::LawContext;
use super::super::{LawFailure, LawResult, law_holds, same};

/// Clock of most matches: long enough that a slow machine does not run out of time.
pub(super) const CLOCK: Clock = Clock::per_move(60_000);

/// Creates a join for one match of a game against random agents.
pub(in super::super) fn join(spec: &Spec, seat: u32) -> Join {
    Join {
        params: spec.params.clone(),
        against: Some(vec!["random".into()]),
        seat: Some(seat),
        clock: CLOCK,
        ..Join::new(&spec.game)
    }
}

/// Checks the first message of a match.
pub(super) fn begins(start: &MatchStart, spec: &Spec, join: &Join, joined: &str, welcome: &Welcome) -> LawResult {
    same(&start.seq, &0, || "match_start.seq".into())?;
    same(&start.join.as_deref(), &Some(joined), || "match_start.join".into())?;
    same(&(&start.game, &start.params), &(&spec.game, &spec.params), || "game and params of match_start".into())?;
    same(&(start.rules, &start.hash), &(spec.rules, &spec.hash), || "rules and hash of match_start".into())?;
    if join.seat.is_some() {
        same(&start.seat, &join.seat, || "match_start.seat".into())?;
    }
    same(&start.seats.len(), &(spec.players as usize), || "match_start.seats".into())?;
    let own = start.seat.and_then(|seat| start.seats.get(seat as usize)).map(|seat| &seat.name);
    law_holds(own.is_some(), || format!("match_start.seat is {:?}", start.seat), "a seat of the game")?;
    if !welcome.agent.is_empty() {
        same(&own, &Some(&welcome.agent), || "the name on our seat".into())?;
    }
    same(&start.clock, &join.clock, || "match_start.clock".into())?;
    same(&start.illegal, &IllegalMoveRules::default(), || "match_start.illegal".into())?;
    same(&start.rated, &join.rated, || "match_start.rated".into())?;
    let hex = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    let commit = start.seed_commit.as_ref().is_some_and(|text| text.len() == 64 && text.bytes().all(hex));
    law_holds(commit, || format!("match_start.seed_commit is {:?}", start.seed_commit), "a SHA-256 in hex")
}

/// Checks the last message of a match.
pub(super) fn ends(end: &MatchEnd, spec: &Spec) -> LawResult {
    let players = spec.players as usize;
    same(&(end.returns.len(), end.outcome.len()), &(players, players), || "returns and outcomes of match_end".into())?;
    law_holds(!end.record.is_empty(), || "match_end.record is empty".into(), "a path")?;
    if end.reason != EndReason::Finished {
        return Ok(());
    }
    let inside = end.returns.iter().all(|r| (spec.min_return..=spec.max_return).contains(r));
    law_holds(inside, || format!("returns {:?}", end.returns), "returns within the bounds of the spec")?;
    law_holds(end.at_fault.is_none(), || "match_end.at_fault in a finished match".into(), "no seat at fault")?;
    if let (Utility::ZeroSum, [a, b]) = (spec.utility, &end.returns[..]) {
        let due = match a.total_cmp(b) {
            std::cmp::Ordering::Greater => [Outcome::Win, Outcome::Loss],
            std::cmp::Ordering::Less => [Outcome::Loss, Outcome::Win],
            std::cmp::Ordering::Equal => [Outcome::Draw, Outcome::Draw],
        };
        same(&end.outcome, &due.to_vec(), || format!("outcome of returns {:?}", end.returns))?;
        law_holds(a + b == 0.0, || format!("returns {:?}", end.returns), "a sum of zero")?;
    }
    Ok(())
}

/// Returns the games whose matches are played: the shortest sequential games with and without hidden information, and a
/// simultaneous game.
pub(super) async fn games(b: &LawContext) -> LawResult<Vec<&Spec>> {
    let kinds: [fn(&Spec) -> bool; 3] = [
        |spec| spec.dynamics == Dynamics::Sequential && spec.information == Information::Perfect,
        |spec| spec.dynamics == Dynamics::Sequential && spec.information == Information::Imperfect,
        |spec| spec.dynamics != Dynamics::Sequential,
    ];
    let all = b.games().await?.iter().map(|(_, spec)| spec);
    let playable: Vec<&Spec> = all.filter(|spec| spec.players >= 2 && spec.document_schemas.is_none()).collect();
    let shortest =
        |kind: fn(&Spec) -> bool| playable.iter().copied().filter(|spec| kind(spec)).min_by_key(|spec| spec.max_length);
    let found: Vec<&Spec> = kinds.into_iter().filter_map(shortest).collect();
    if found.is_empty() { Err(LawFailure::Skip("the server lists no game for two players".into())) } else { Ok(found) }
}
