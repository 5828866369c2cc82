//! Score of an episode: answers of the model, and its result.

use ludex_client::protocol::message::{ReadAnswer, Verdict};
use ludex_client::protocol::spec::Params;
use serde_json::json;

use super::arguments::Arguments;

/// Result of an episode that has ended on the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EpisodeEnd {
    /// Return of the model's seat.
    pub(super) value: f64,
    /// True if the step limit ended the episode.
    pub(super) is_truncated: bool,
}

/// Episode of a model, with its score.
pub(super) struct ScoredEpisode {
    pub(super) arguments: Arguments,
    /// Least and greatest return of a seat.
    pub(super) returns: [f64; 2],
    /// Number of moves of all seats.
    pub(super) length: u32,
    pub(super) end: Option<EpisodeEnd>,
    moves: u32,
    illegal: u32,
    unparsed: u32,
    empty: u32,
    /// Number of refused answers in this turn.
    refused_in_turn: u32,
}

impl ScoredEpisode {
    pub(super) fn new(arguments: Arguments, returns: [f64; 2]) -> Self {
        ScoredEpisode {
            arguments,
            returns,
            length: 0,
            end: None,
            moves: 0,
            illegal: 0,
            unparsed: 0,
            empty: 0,
            refused_in_turn: 0,
        }
    }

    /// Counts an answer by its verdict.
    pub(super) fn count(&mut self, read: &ReadAnswer) {
        let count = match read.verdict {
            Verdict::Ok => {
                self.refused_in_turn = 0;
                self.moves += 1;
                return;
            }
            Verdict::Illegal => &mut self.illegal,
            Verdict::Unparsed => &mut self.unparsed,
            Verdict::Empty => &mut self.empty,
        };
        *count += 1;
        self.refused_in_turn += 1;
    }

    /// Returns the number of answers.
    pub(super) fn steps(&self) -> u32 {
        self.moves + self.refused_answers()
    }

    /// Returns the number of refused answers.
    pub(super) fn refused_answers(&self) -> u32 {
        self.illegal + self.unparsed + self.empty
    }

    /// Returns true if the model has used up its tries.
    pub(super) fn is_forfeit(&self) -> bool {
        self.refused_in_turn >= self.arguments.tries
    }

    /// Returns true if the game is over or forfeit.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some() || self.is_forfeit()
    }

    /// Returns the return of the model's seat: the game's least for an episode that is forfeit or not over.
    fn value(&self) -> f64 {
        self.end.filter(|_| !self.is_forfeit()).map_or(self.returns[0], |end| end.value)
    }

    /// Returns the reward of the last step: that of the episode if it is over, otherwise 0.
    pub(super) fn reward(&self) -> f64 {
        match self.is_over() {
            true => self.arguments.reward.of(self.value(), self.returns, self.refused_answers()),
            false => 0.0,
        }
    }

    /// Returns the numbers of an episode that is over, for logs of a trainer.
    pub(super) fn metrics(&self) -> Params {
        let numbers = json!({
            "return": self.value(),
            "moves": self.moves,
            "illegal": self.illegal,
            "unparsed": self.unparsed,
            "empty": self.empty,
            "length": self.length,
            "finished": self.end.is_some() && !self.is_forfeit(),
            "forfeit": self.is_forfeit(),
            "truncated": self.end.is_some_and(|end| end.is_truncated),
        });
        numbers.as_object().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(arguments: serde_json::Value) -> ScoredEpisode {
        let arguments = Arguments::read(arguments.as_object().unwrap().clone()).map_err(|e| e.message()).unwrap();
        ScoredEpisode::new(arguments, [-1.0, 1.0])
    }

    fn read(verdict: Verdict) -> ReadAnswer {
        ReadAnswer { verdict, ..ReadAnswer::default() }
    }

    #[test]
    fn refused_answers_of_one_turn_forfeit() {
        let mut episode = episode(json!({ "tries": 2, "penalty": 0.25 }));
        for verdict in [Verdict::Illegal, Verdict::Ok, Verdict::Empty] {
            episode.count(&read(verdict));
            assert!(!episode.is_over() && episode.reward() == 0.0, "{verdict:?}");
        }
        episode.count(&read(Verdict::Unparsed));
        assert!(episode.is_forfeit() && episode.is_over());
        assert_eq!((episode.steps(), episode.refused_answers(), episode.reward()), (4, 3, -1.75));
    }

    #[test]
    fn finished_episode_has_its_return() {
        let mut episode = episode(json!({ "scale": "unit" }));
        episode.count(&read(Verdict::Ok));
        episode.end = Some(EpisodeEnd { value: 0.0, is_truncated: false });
        assert_eq!((episode.reward(), &episode.metrics()["finished"]), (0.5, &json!(true)));
    }
}
