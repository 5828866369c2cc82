//! Marks that compare bids with the equilibrium bid and with the lowest winning bid.

use ludex_env::game::{MarkDoc, Marks};

use super::{FirstSealedAuction, State};

const MONEY: &str = "money";
const REGRET: &str = "GTBench, regret";

/// Documentation of the marks.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new("value", MONEY, "at the end, for each seat: its value v of the item", "LLMArena"),
    MarkDoc::new("bid", MONEY, "at the end, for each seat: its bid b", "LLMArena"),
    MarkDoc::new(
        "deviation",
        "share",
        "at the end, for each seat: (b - e) / e, where e = v (n - 1) / n is the equilibrium bid of n bidders; -1 for a bid of 0; \
         absent if v is 0",
        "LLMArena, figure 3",
    ),
    MarkDoc::new(
        "regret_paper",
        MONEY,
        "at the end, for each seat: b - (o + c) if b > o + c; else v - (o + c) if o + c < v; else 0; o is the highest bid of all \
         other seats, and c the smallest coin",
        REGRET,
    ),
    MarkDoc::new("regret_fixed", MONEY, "as `regret_paper`, but 0 if b = o + c, the lowest winning bid", REGRET),
];

impl FirstSealedAuction {
    pub(super) fn count(&self, before: &State, after: &State, out: &mut Marks) {
        if before.winner.is_some() || after.winner.is_none() {
            return;
        }
        let money = |coins: u16| f64::from(coins) / f64::from(self.unit());
        let share = (self.n - 1) as f64 / self.n as f64;
        for seat in 0..self.n {
            let (value, bid) = (after.values[seat], after.bids[seat]);
            let others = (0..self.n).filter(|&p| p != seat).map(|p| after.bids[p]);
            let enough = others.max().unwrap_or(0) + 1;
            let fixed = if bid == enough { 0 } else { regret(value, bid, enough) };
            out.number(seat, "value", money(value));
            out.number(seat, "bid", money(bid));
            if value > 0 {
                let fair = money(value) * share;
                out.number(seat, "deviation", (money(bid) - fair) / fair);
            }
            out.number(seat, "regret_paper", money(regret(value, bid, enough)));
            out.number(seat, "regret_fixed", money(fixed));
        }
    }
}

/// Returns the regret of a bid in coins, by the published formula. `enough` is the lowest bid that wins.
fn regret(value: u16, bid: u16, enough: u16) -> u16 {
    if bid > enough { bid - enough } else { value.saturating_sub(enough) }
}

#[cfg(test)]
mod tests {
    use ludex_env::{MarkValue, Marks};

    /// Plays an auction and returns the marks value, bid, deviation, regret_paper and regret_fixed of one seat.
    fn of(params: &str, values: &[u32], bids: &[u32], winner: u32, seat: usize) -> [f64; 5] {
        let mut s = crate::load(&format!("first_sealed_auction({params})")).unwrap().start();
        values.iter().for_each(|&v| s.play_chance(v).unwrap());
        bids.iter().enumerate().for_each(|(p, &bid)| s.play(p, bid).unwrap());
        let (before, mut out) = (s.boxed(), Marks::all());
        s.play_chance(winner).unwrap();
        before.marks(&[], &*s, &mut out);
        let all = out.take().into_iter().filter(|m| m.seat == seat).map(|m| match m.value {
            MarkValue::Number(n) => n,
            other => panic!("{other:?}"),
        });
        all.collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn regrets_equal_hand_computed_values() {
        // A bid of 7 against 3 at a value of 8: a bid of 4 wins too, so 3 are lost. The equilibrium bid is 4.
        assert_eq!(of("", &[8, 6], &[7, 3], 0, 0), [8.0, 7.0, 0.75, 3.0, 3.0]);
        // Seat 1 could not win with a gain: the lowest winning bid, 8, is not below its value of 6.
        assert_eq!(of("", &[8, 6], &[7, 3], 0, 1), [6.0, 3.0, 0.0, 0.0, 0.0]);
        // A bid of 2 against 3 at a value of 8 forgoes a gain of 8 - 4.
        assert_eq!(of("", &[8, 6], &[2, 3], 1, 0), [8.0, 2.0, -0.5, 4.0, 4.0]);
        // 4 against 3 is the lowest winning bid; the printed formula charges 8 - 4.
        assert_eq!(of("", &[8, 6], &[4, 3], 0, 0), [8.0, 4.0, 0.0, 4.0, 0.0]);
        // A bid of zero has a deviation of -1.
        assert_eq!(of("", &[8, 6], &[0, 3], 1, 0)[2], -1.0);
    }

    #[test]
    fn regret_supports_cents_and_more_than_two_bidders() {
        // A bid of 5.00 against 2.49 at a value of 8.00: a bid of 2.50 wins too.
        assert_eq!(of("preset=llmarena", &[800, 600], &[500, 249], 0, 0), [8.0, 5.0, 0.25, 2.5, 2.5]);
        // With three bidders, the equilibrium bid is two thirds of the value: 6 of 9. The highest opposing bid is 5.
        assert_eq!(of("players=3", &[9, 6, 7], &[3, 5, 2], 1, 0), [9.0, 3.0, -0.5, 3.0, 3.0]);
    }
}
