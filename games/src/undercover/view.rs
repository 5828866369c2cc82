//! Information available to a seat: view, text, array, and sampled states.

use std::sync::Arc;

use ludex_env::draw::Stream;
use ludex_env::game::{Game, Seat, SeatSet, ToMove};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::{self, lexicon};
use super::{CLUES, Guess, MOST, Memory, NONE, Phase, ROUNDS, STOCK_CLUES, State, Undercover, place};
use crate::quote::quoted;

/// Information visible to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// The observer's word; absent until it is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// Index of the current round, from 0.
    pub round: u8,
    /// The current phase of the game.
    pub phase: Phase,
    /// Number of undercovers drawn so far.
    pub drawn: u8,
    /// The seats still in the game.
    pub alive: Vec<u8>,
    /// The eliminated seats, in order.
    pub out: Vec<Out>,
    /// All clues so far, in order.
    pub clues: Vec<Clue>,
    /// All revealed votes, in order.
    pub votes: Vec<Vote>,
    /// The observer's own guesses.
    pub guesses: Vec<GuessedWord>,
    /// The seats to move.
    pub to_move: Vec<u8>,
    /// Words and roles; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<RevealView>,
}

/// Elimination of a seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Out {
    /// The seat that was eliminated.
    pub seat: u8,
    /// Round of the elimination, counted from 0.
    pub round: u8,
    /// True if the seat was an undercover.
    pub undercover: bool,
}

/// A clue of a seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clue {
    /// Round of the clue, counted from 0.
    pub round: u8,
    /// The seat that gave the clue.
    pub seat: u8,
    /// The text of the clue; empty for a blank clue.
    pub text: String,
}

/// A vote of a seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Vote {
    /// Round of the vote, counted from 0.
    pub round: u8,
    /// The seat that voted.
    pub voter: u8,
    /// The seat that received the vote.
    pub target: u8,
}

/// A guess of the observer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuessedWord {
    /// Round of the guess, counted from 0.
    pub round: u8,
    /// The seat whose word the observer guessed.
    pub seat: u8,
    /// The word that the observer guessed.
    pub word: String,
}

/// Words and roles, revealed at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RevealView {
    /// The seats of the undercovers.
    pub undercovers: Vec<u8>,
    /// The word of the undercovers.
    pub word: String,
    /// The word of the other players.
    pub others: String,
}

/// Iterates over the round number of each clue. A round ends once every living seat has given a clue.
fn rounds(s: &State) -> impl Iterator<Item = u8> {
    let total = s.alive.count_ones() as usize + s.out.len();
    let ends: Vec<usize> = (0..s.out.len())
        .scan(0, |at, k| {
            *at += total - k;
            Some(*at)
        })
        .collect();
    (0..s.clues.len()).map(move |k| ends.iter().take_while(|&&end| end <= k).count() as u8)
}

fn numbers(set: u16) -> Vec<u8> {
    SeatSet(set).iter().map(|p| p as u8).collect()
}

impl Undercover {
    pub(super) fn seen_by(&self, s: &State, who: Option<Seat>) -> View {
        let over = s.phase == Phase::Over;
        let clues = rounds(s).enumerate().map(|(k, round)| Clue {
            round,
            seat: s.clues[k].0,
            text: Self::text_of(s, k).to_owned(),
        });
        // The votes of the current round stay hidden until all of them are cast.
        let done = usize::from(s.round) + usize::from(s.phase == Phase::Tie);
        let votes = s.votes.iter().enumerate().take(done).flat_map(|(round, votes)| {
            let cast = votes.iter().enumerate().filter(|(_, target)| **target != NONE);
            cast.map(move |(voter, &target)| Vote { round: round as u8, voter: voter as u8, target })
        });
        let own = s.guesses.iter().filter(|g| who == Some(usize::from(g.seat)));
        let guesses = own.flat_map(|g| {
            g.words.iter().map(|(seat, word)| GuessedWord { round: g.round, seat: *seat, word: word.clone() })
        });
        let out = s.out.iter().enumerate().map(|(round, &seat)| Out {
            seat,
            round: round as u8,
            undercover: s.undercover >> seat & 1 == 1,
        });
        let [word, others] = self.words_of(s);
        View {
            seat: who.map(|p| p as u8),
            word: who.filter(|_| Self::dealt(s)).map(|p| self.word(s, p).to_owned()),
            round: s.round,
            phase: s.phase,
            drawn: if Self::dealt(s) { self.params.undercovers as u8 } else { s.undercover.count_ones() as u8 },
            alive: numbers(s.alive),
            out: out.collect(),
            clues: clues.collect(),
            votes: votes.collect(),
            guesses: guesses.collect(),
            to_move: match self.to_move(s) {
                ToMove::Seat(p) => vec![p as u8],
                turn => turn.seats().iter().map(|p| p as u8).collect(),
            },
            told: over.then(|| RevealView {
                undercovers: numbers(s.undercover),
                word: word.into(),
                others: others.into(),
            }),
        }
    }

    /// Converts the public part of a view to a position.
    fn open(&self, view: &View) -> State {
        let mut s = self.start();
        s.phase = view.phase;
        s.round = view.round.min(ROUNDS as u8);
        let n = self.players();
        s.alive = view.alive.iter().filter(|&&p| usize::from(p) < n).fold(0, |set, &p| set | 1u16 << p);
        s.out = view.out.iter().map(|o| o.seat.min(n as u8 - 1)).take(MOST).collect();
        for (k, clue) in view.clues.iter().enumerate().take(CLUES) {
            let stems = words::stems(&clue.text);
            let stock = lexicon().clues.iter().position(|c| c.text == clue.text || words::equal(&c.stems, &stems));
            let id = match stock {
                _ if clue.text.is_empty() => 0,
                Some(stock) => stock as u8 + 1,
                None => NONE,
            };
            s.clues.push((clue.seat.min(n as u8 - 1), id));
            if id == NONE {
                s.texts.push((k as u8, clue.text.as_str().into()));
            }
        }
        s.spoken = view.clues.iter().filter(|c| c.round == view.round).count().min(s.clues.len()) as u8;
        for v in &view.votes {
            if let Some(place) = s.votes.get_mut(usize::from(v.round)).and_then(|r| r.get_mut(usize::from(v.voter))) {
                *place = v.target.min(n as u8 - 1);
            }
        }
        if let Some(seat) = view.seat {
            for (k, g) in view.guesses.iter().enumerate() {
                let rest = &view.guesses[..k];
                if rest.iter().any(|other| other.round == g.round) {
                    continue;
                }
                let words = view.guesses.iter().filter(|o| o.round == g.round).map(|o| (o.seat, o.word.clone()));
                s.guesses.push(Arc::new(Guess { round: g.round, seat, words: words.collect() }));
            }
        }
        s
    }

    /// Returns true if a position is consistent with the view: revealed roles and words match, and no clue contains the
    /// speaker's own word.
    fn fits(&self, s: &State, view: &View) -> bool {
        let role = |seat: u8| s.undercover >> seat.min(15) & 1 == 1;
        let listed = self.given.is_none();
        let legal = |k: usize| {
            let (seat, id) = s.clues[k];
            // Stock clues contain no word of the built-in pairs, so they need no check if chance draws the words.
            id == 0 || id != NONE && listed || !words::holds(Self::text_of(s, k), self.word(s, seat.into()))
        };
        view.out.iter().all(|o| role(o.seat) == o.undercover)
            && view.seat.zip(view.word.as_ref()).is_none_or(|(p, word)| self.word(s, p.into()) == word)
            && view.told.as_ref().is_none_or(|t| {
                let [word, others] = self.words_of(s);
                word == t.word && others == t.others && numbers(s.undercover) == t.undercovers
            })
            && (0..s.clues.len()).all(legal)
    }

    pub(super) fn world_of(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.open(view);
        let known = view.word.as_deref().or(view.told.as_ref().map(|t| t.word.as_str()));
        // All pairs and orders that contain the known word are equally likely.
        let swaps = if self.params.swap && self.given.is_none() { 2 } else { 1 };
        let pairs = if self.given.is_some() { 1 } else { lexicon().pairs.len() };
        let fitting: Vec<(u16, bool)> = (0..pairs as u16)
            .flat_map(|pair| (0..swaps).map(move |k| (pair, k == 1)))
            .filter(|&(pair, swap)| known.is_none_or(|word| self.words_at(pair, swap).contains(&word)))
            .collect();
        let last = self.start_roles();
        for _ in 0..5_000 {
            if let Some(&(pair, swap)) = fitting.get(rng.below(fitting.len())) {
                (s.pair, s.swap) = (pair, swap);
            }
            s.undercover = match (&last, &view.told) {
                (_, Some(told)) => told.undercovers.iter().filter(|&&p| p < 10).fold(0, |set, &p| set | 1 << p),
                (Some(set), _) if Self::dealt(&s) => *set,
                (Some(_), _) => 0,
                _ => self.roles(view, rng),
            };
            if self.fits(&s, view) {
                break;
            }
        }
        // Resets the words that chance has not drawn yet.
        if s.phase == Phase::Pair {
            (s.pair, s.swap) = (0, false);
        } else if s.phase == Phase::Swap {
            s.swap = false;
        }
        s
    }

    /// Returns the undercovers as a bit set if they always have the last seats; `None` if chance draws them.
    fn start_roles(&self) -> Option<u16> {
        let (n, last) = (self.players(), self.params.undercover == super::Seats::Last);
        last.then(|| SeatSet::first(n).0 & !SeatSet::first(n - self.params.undercovers as usize).0)
    }

    /// Draws undercovers that match the revealed roles; all such sets are equally likely.
    fn roles(&self, view: &View, rng: &mut Stream) -> u16 {
        let revealed = |bad: bool| {
            view.out.iter().filter(move |o| o.undercover == bad && o.seat < 10).fold(0u16, |set, o| set | 1 << o.seat)
        };
        let mut set = revealed(true);
        let mut free: Vec<Seat> = (0..self.players()).filter(|&p| (set | revealed(false)) >> p & 1 == 0).collect();
        rng.shuffle(&mut free);
        let want = usize::from(view.drawn).min(self.params.undercovers as usize);
        free.into_iter().take(want.saturating_sub(set.count_ones() as usize)).for_each(|p| set |= 1 << p);
        set
    }

    /// Returns the rules in a few sentences.
    pub(super) fn rules(&self) -> String {
        let n = self.params.undercovers;
        let plural = if n == 1 {
            "1 player is the undercover and has".into()
        } else {
            format!("{n} players are undercovers and have")
        };
        format!(
            "There are {} players. {plural} another word than the others; nobody knows who. In each round every living player gives one clue to the own word, without saying it, then all vote at once, and the player with most votes is out; a tie is decided by lot. The others win when no undercover is left. The undercovers win when {} or fewer players are left, or as many of them as of the others.",
            self.players(),
            self.survive
        )
    }

    pub(super) fn words(&self, view: &View) -> String {
        let mut out = Vec::new();
        let name = |p: &u8| format!("player_{p}");
        match (view.seat, &view.word) {
            (Some(p), Some(word)) => out.push(format!("You are player_{p}. Your secret word is: {word}.")),
            (Some(p), None) => out.push(format!("You are player_{p}. The words are being drawn.")),
            _ => {}
        }
        out.push(self.rules());
        let rounds: Vec<u8> = match self.params.memory {
            Memory::All => (0..=view.round).collect(),
            Memory::Round => vec![view.round],
        };
        for round in rounds {
            let clues: Vec<&Clue> = view.clues.iter().filter(|c| c.round == round).collect();
            if !clues.is_empty() {
                out.push(format!("Clues of round {}:", round + 1));
            }
            for c in clues {
                let text = if c.text.is_empty() { "(says nothing)".to_owned() } else { quoted(&c.text) };
                out.push(format!("- player_{}: {text}", c.seat));
            }
            let votes: Vec<String> = view
                .votes
                .iter()
                .filter(|v| v.round == round)
                .map(|v| format!("player_{} for player_{}", v.voter, v.target))
                .collect();
            if !votes.is_empty() {
                out.push(format!("Votes of round {}: {}.", round + 1, votes.join(", ")));
            }
        }
        for o in &view.out {
            let role = if o.undercover { "was an undercover" } else { "was not an undercover" };
            out.push(format!("player_{} is out and {role}.", o.seat));
        }
        out.push(format!("In the game: {}.", view.alive.iter().map(name).collect::<Vec<_>>().join(", ")));
        let own = view.seat.filter(|p| view.to_move.contains(p));
        out.push(match (view.phase, own, &view.told) {
            (Phase::Clue, Some(p), _) => format!(
                "Give your clue: answer `player_{p}: your clue`, at most {} characters, without your word and without repeating a clue of this round.",
                self.params.clue_chars
            ),
            (Phase::Vote, Some(p), _) => {
                let others: Vec<String> = view.alive.iter().filter(|o| **o != p).map(name).collect();
                let guess = match (others.first(), others.last()) {
                    (Some(first), Some(last)) if self.params.guesses => format!(
                        " To name words of others too, answer a JSON object: {{\"vote\": \"{first}\", \"guesses\": {{\"{last}\": \"a word\"}}}}."
                    ),
                    _ => String::new(),
                };
                format!("Vote: answer `vote: player_K`, one of {}.{guess}", others.join(", "))
            }
            (_, _, Some(t)) => {
                let list: Vec<String> = t.undercovers.iter().map(name).collect();
                format!("The game is over. {} had {}, the others {}.", list.join(", "), t.word, t.others)
            }
            (Phase::Pair | Phase::Swap | Phase::Role | Phase::Tie, ..) => "Chance decides.".into(),
            _ => format!("To move: {}.", view.to_move.iter().map(name).collect::<Vec<_>>().join(", ")),
        });
        out.join("\n")
    }

    pub(super) fn encode(&self, s: &State, who: Option<Seat>, out: &mut [u8]) {
        out.fill(0);
        let mut set = |at: usize| {
            if let Some(cell) = out.get_mut(at) {
                *cell = 1;
            }
        };
        let (n, from) = (self.players(), who.unwrap_or(0));
        let turned = |p: usize| (p + n - from) % n;
        if let Some(p) = who.filter(|_| Self::dealt(s))
            && let Some(word) = place(lexicon(), self.word(s, p))
        {
            set(word);
        }
        SeatSet(s.alive).iter().for_each(|p| set(512 + turned(p)));
        for (seat, id, _) in Self::running(s) {
            set(522 + 65 * turned(seat.into()) + if id == NONE { 0 } else { usize::from(id).min(STOCK_CLUES) });
        }
        let last = (usize::from(s.round) + usize::from(s.phase == Phase::Tie)).checked_sub(1);
        if let Some(votes) = last.and_then(|k| s.votes.get(k)) {
            for (voter, &target) in votes.iter().enumerate().take(n).filter(|(_, t)| **t != NONE) {
                set(1_172 + 10 * turned(voter) + turned(usize::from(target).min(n - 1)));
            }
        }
        if let Some(p) = who {
            set(1_272 + p);
        }
        match s.phase {
            Phase::Clue => set(1_282),
            Phase::Vote => set(1_283),
            _ => {}
        }
        set(1_284 + usize::from(s.round).min(7));
    }
}
