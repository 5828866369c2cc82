//! Rewards of episodes.

use serde_json::Value;

/// Scale of a reward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RewardScale {
    /// Return of the seat, divided by the divisor.
    #[default]
    Return,
    /// Return from the game's least to its greatest, as 0 to 1.
    Unit,
}

impl RewardScale {
    /// Reads a scale by its name.
    pub(super) fn read(name: &Value) -> Option<Self> {
        match name.as_str()? {
            "return" => Some(RewardScale::Return),
            "unit" => Some(RewardScale::Unit),
            _ => None,
        }
    }
}

/// Reward of an episode, as a function of the return and the refused answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RewardRule {
    pub(super) scale: RewardScale,
    /// Divides the return; only with [`RewardScale::Return`].
    pub(super) divisor: f64,
    /// Subtracted for each refused answer.
    pub(super) penalty: f64,
}

impl RewardRule {
    /// Returns the reward for a return between `least` and `greatest` after this many refused answers.
    pub(super) fn of(&self, value: f64, [least, greatest]: [f64; 2], refused: u32) -> f64 {
        let penalty = self.penalty * f64::from(refused);
        match self.scale {
            RewardScale::Return => value / self.divisor - penalty,
            RewardScale::Unit => {
                let width = greatest - least;
                let share = if width > 0.0 { (value - least) / width } else { 0.0 };
                (share - penalty).clamp(0.0, 1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reward_scales_the_return() {
        let plain = RewardRule { scale: RewardScale::Return, divisor: 10.0, penalty: 0.5 };
        assert_eq!(plain.of(20.0, [-100.0, 100.0], 3), 0.5);
        let unit = RewardRule { scale: RewardScale::Unit, divisor: 1.0, penalty: 0.25 };
        assert_eq!(
            [unit.of(0.0, [-1.0, 1.0], 1), unit.of(-1.0, [-1.0, 1.0], 1), unit.of(2.0, [2.0, 2.0], 0)],
            [0.25, 0.0, 0.0]
        );
    }
}
