//! Outcomes of the seats, derived from returns.

use std::collections::BTreeMap;

use ludex_protocol::record::{EndReason, Outcome};
use ludex_protocol::spec::{Spec, Utility};

/// Returns the outcome of each seat. Hosts write the outcomes, and the referee checks them.
///
/// - After a forfeit (`at_fault`) in a game of two seats: loss for the offender and win for the other seat; with more
///   seats, `none`.
/// - Otherwise by sides, which are the `teams` or, without teams, the single seats: the side with the greatest mean
///   return wins, or all sides with that mean draw; the rest lose.
/// - `none` without opponents (one seat, or identical interests), and for results that do not count.
///
/// `teams` has the team number of each seat at the end of the episode. Records of format 1 ignore teams.
pub fn outcomes(
    spec: &Spec,
    teams: Option<&[usize]>,
    returns: &[f64],
    reason: EndReason,
    at_fault: Option<usize>,
) -> Vec<Outcome> {
    let seats = returns.len();
    if seats < 2 || !reason.counts() || (at_fault.is_none() && spec.utility == Utility::Identical) {
        return vec![Outcome::None; seats];
    }
    if let Some(offender) = at_fault {
        let other = if seats == 2 { [Outcome::Loss, Outcome::Win] } else { [Outcome::None; 2] };
        return (0..seats).map(|seat| other[usize::from(seat != offender)]).collect();
    }
    let side = |seat: usize| teams.and_then(|teams| teams.get(seat)).copied().unwrap_or(seat);
    let mut sides: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (seat, &score) in returns.iter().enumerate() {
        sides.entry(side(seat)).or_default().push(score);
    }
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    let means: BTreeMap<usize, f64> = sides.iter().map(|(&side, scores)| (side, mean(scores))).collect();
    let best = means.values().copied().fold(f64::NEG_INFINITY, f64::max);
    let first = means.values().filter(|&&mean| mean == best).count();
    let outcome = |seat| match means.get(&side(seat)) == Some(&best) {
        true if first == 1 => Outcome::Win,
        true => Outcome::Draw,
        false => Outcome::Loss,
    };
    (0..seats).map(outcome).collect()
}

/// Returns true for the end reasons by which one seat forfeits the match.
pub const fn is_forfeit(reason: EndReason) -> bool {
    matches!(
        reason,
        EndReason::Illegal | EndReason::Timeout | EndReason::Disconnect | EndReason::Resign | EndReason::AgentError
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Draw, Loss, None as Nobody, Win};

    fn spec(utility: Utility) -> Spec {
        Spec { utility, ..Spec::default() }
    }

    #[test]
    fn seat_with_greatest_return_wins() {
        let of = |returns: &[f64]| outcomes(&spec(Utility::GeneralSum), None, returns, EndReason::Finished, None);
        assert_eq!(of(&[1.0, -1.0]), [Win, Loss]);
        assert_eq!(of(&[0.5, 0.5]), [Draw, Draw]);
        assert_eq!(of(&[3.0, 1.0, 3.0]), [Draw, Loss, Draw]);
        assert_eq!(of(&[7.0]), [Nobody]);
    }

    #[test]
    fn team_with_greatest_mean_return_wins() {
        let of = |teams: &[usize], returns: &[f64]| {
            outcomes(&spec(Utility::ZeroSum), Some(teams), returns, EndReason::Finished, None)
        };
        assert_eq!(of(&[0, 1, 1], &[-2.0, 1.0, 1.0]), [Loss, Win, Win]);
        assert_eq!(of(&[0, 1, 1], &[2.0, -1.0, -1.0]), [Win, Loss, Loss]);
        assert_eq!(of(&[0, 1, 0], &[0.5, 0.0, -0.5]), [Draw, Draw, Draw]);
        assert_eq!(of(&[0, 0, 1, 1], &[3.0, 0.0, 1.0, 1.0]), [Win, Win, Loss, Loss]);
    }

    #[test]
    fn forfeit_overrides_returns() {
        let zero = spec(Utility::ZeroSum);
        assert_eq!(outcomes(&zero, None, &[5.0, 1.0], EndReason::Timeout, Some(0)), [Loss, Win]);
        assert_eq!(outcomes(&zero, None, &[5.0, 1.0, 0.0], EndReason::Timeout, Some(0)), [Nobody; 3]);
    }

    #[test]
    fn game_without_opponents_or_with_failure_has_no_winner() {
        assert_eq!(outcomes(&spec(Utility::Identical), None, &[5.0, 5.0], EndReason::Finished, None), [Nobody; 2]);
        assert_eq!(outcomes(&spec(Utility::ZeroSum), None, &[1.0, -1.0], EndReason::InfraError, None), [Nobody; 2]);
    }
}
