//! Playouts in which every seat plays by the policy and knows all hands.

use ludex_games::fight_the_landlord::cards::Counts;

use super::policy::{KnowledgeLevel, SEATS, SeatKnowledge, choose};
use super::split::{Combo, Splits};

/// Playout position, with the hands of all seats.
#[derive(Clone, Copy)]
pub struct Playout {
    pub hands: [Counts; SEATS],
    pub held: [u8; SEATS],
    pub landlord: usize,
    pub to_move: usize,
    pub top: Option<(Combo, usize)>,
    /// Number of bombs and rockets played during the playout.
    pub bombs: u32,
}

impl Playout {
    fn knowledge(&self) -> SeatKnowledge {
        let me = self.to_move;
        SeatKnowledge {
            me,
            landlord: self.landlord,
            hand: self.hands[me],
            unseen: self.hands[(me + 1) % SEATS] + self.hands[(me + 2) % SEATS],
            held: self.held,
            top: self.top,
        }
    }

    /// Makes the given play, or passes for `None`. Returns true if the game is over.
    pub fn put(&mut self, play: Option<Combo>) -> bool {
        let me = self.to_move;
        self.to_move = (me + 1) % SEATS;
        if let Some(play) = play {
            self.hands[me] -= play.counts;
            self.held[me] = self.held[me].saturating_sub((0..15).map(|r| (play.counts >> (4 * r) & 15) as u8).sum());
            self.bombs += u32::from(play.kind.doubles());
            self.top = Some((play, me));
        } else if self.top.is_some_and(|(_, owner)| owner == self.to_move) {
            self.top = None;
        }
        self.hands[me] == 0
    }

    /// Plays until the game is over. Returns true if the landlord wins.
    pub fn finish(&mut self, splits: &mut Splits) -> bool {
        loop {
            let me = self.to_move;
            let play = choose(&self.knowledge(), KnowledgeLevel::Together, splits);
            if self.put(play) {
                return me == self.landlord;
            }
        }
    }
}
