//! OpenSpiel's strings, built from our views, by game.

use std::collections::BTreeSet;

use ludex_env::{DynState, ToMove, Viewer};
use serde_json::Value;

pub fn view(s: &dyn DynState, seat: usize) -> Value {
    s.view(Viewer::Seat(seat)).value()
}

pub fn text(s: &dyn DynState, seat: usize) -> String {
    s.view(Viewer::Seat(seat)).text()
}

/// Returns the board as OpenSpiel's mnk prints it.
pub fn mnk_board(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let rows: Vec<&str> = v["board"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    rows.join("\n").replace('b', "x").replace('w', "o")
}

pub fn fen(s: &dyn DynState, seat: usize) -> String {
    view(s, seat)["fen"].as_str().unwrap_or_default().to_owned()
}

/// Returns this project's text of a position up to the column letters below the board, without any following line about
/// ko or the end.
pub fn go_state(s: &dyn DynState, seat: usize) -> String {
    let text = text(s, seat);
    let rest = text.match_indices("\n\n").nth(1);
    rest.map_or(text.as_str(), |(at, _)| &text[..=at]).to_owned()
}

pub fn card(v: &Value) -> Option<String> {
    v["card"].as_u64().map(|c| c.to_string())
}

pub fn kuhn_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let chips: String = v["chips"].as_array().into_iter().flatten().map(Value::to_string).collect();
    card(&v).map(|card| card + &chips).unwrap_or_default()
}

pub fn kuhn_information(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    card(&v).unwrap_or_default() + v["bets"].as_str().unwrap_or_default()
}

pub fn kuhn_state(s: &dyn DynState, _seat: usize) -> String {
    let mut parts: Vec<String> = (0..s.spec().players as usize).filter_map(|p| card(&view(s, p))).collect();
    parts.extend(view(s, 0)["bets"].as_str().filter(|b| !b.is_empty()).map(str::to_owned));
    parts.join(" ")
}

/// Returns this project's text of a position without the last line.
pub fn pig_state(s: &dyn DynState, seat: usize) -> String {
    let text = text(s, seat);
    text.rsplit_once('\n').map(|(theirs, _)| format!("{theirs}\n")).unwrap_or_default()
}

/// Returns the player to move in Leduc poker, or after the end the player who moved last; -1 means chance.
pub fn leduc_player(s: &dyn DynState) -> i64 {
    let v = view(s, 0);
    if s.turn() != ToMove::Over {
        return s.turn().code().into();
    }
    let n = i64::from(s.spec().players);
    let (mut seat, mut folded) = (0, BTreeSet::new());
    for moves in v["moves"].as_array().unwrap() {
        let mut next = s.spec().params["starting_player"].as_i64().unwrap();
        for c in moves.as_str().unwrap().chars() {
            seat = (next..).map(|p| p % n).find(|p| !folded.contains(p)).unwrap();
            if c == 'f' {
                folded.insert(seat);
            }
            next = seat + 1;
        }
    }
    seat
}

/// Returns the moves of Leduc poker by round, each under its name in `names`.
pub fn leduc_moves(s: &dyn DynState, names: [&str; 3], between: &str) -> [String; 2] {
    let v = view(s, 0);
    [0, 1].map(|round| {
        let name = |c: char| names["fcr".find(c).unwrap()];
        v["moves"][round].as_str().unwrap().chars().map(name).collect::<Vec<_>>().join(between)
    })
}

pub fn list(v: &Value) -> String {
    v.as_array().into_iter().flatten().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

/// Returns the round, the seat to move, the pot and the chips of every seat (100 at first).
pub fn leduc_money(s: &dyn DynState) -> (u8, i64, u64, String) {
    let v = view(s, 0);
    let chips: Vec<u64> = v["chips"].as_array().unwrap().iter().map(|c| c.as_u64().unwrap()).collect();
    let over = s.turn() == ToMove::Over;
    let own = |(&put, won): (&u64, f64)| if over { 100.0 + won } else { 100.0 - put as f64 };
    let money: Vec<String> = chips.iter().zip(s.returns()).map(own).map(|m| m.to_string()).collect();
    let dealt = v["dealt"].as_u64() == Some(s.spec().players.into());
    let second = v["board"].is_u64() || (dealt && s.turn() == ToMove::Chance);
    let pot = if over { 0 } else { chips.iter().sum() };
    (1 + u8::from(second), leduc_player(s), pot, money.join(" "))
}

pub fn leduc_head(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let (round, player, pot, money) = leduc_money(s);
    let card = v["card"].as_i64().unwrap_or(-10_000);
    let board = v["board"].as_i64().map(|c| format!("[Public: {c}]")).unwrap_or_default();
    format!("[Observer: {seat}][Private: {card}][Round {round}][Player: {player}][Pot: {pot}][Money: {money}]{board}")
}

pub fn leduc_observation(s: &dyn DynState, seat: usize) -> String {
    format!("{}[Ante: {}]", leduc_head(s, seat), list(&view(s, seat)["chips"]))
}

pub fn leduc_information(s: &dyn DynState, seat: usize) -> String {
    let [first, second] = leduc_moves(s, ["0", "1", "2"], " ");
    format!("{}[Round1: {first}][Round2: {second}]", leduc_head(s, seat))
}

pub fn leduc_state(s: &dyn DynState, _seat: usize) -> String {
    let (round, player, pot, money) = leduc_money(s);
    let seats = if s.spec().players > 2 { "player_0 player_1 [...]" } else { "player_0 player_1" };
    let card = |v: &Value| v.as_i64().unwrap_or(-10_000).to_string();
    let cards = std::iter::once(card(&view(s, 0)["board"]));
    let cards: Vec<String> = cards.chain((0..s.spec().players as usize).map(|p| card(&view(s, p)["card"]))).collect();
    let [first, second] = leduc_moves(s, ["Fold", "Call", "Raise"], ", ");
    format!(
        "Round: {round}\nPlayer: {player}\nPot: {pot}\nMoney ({seats}): {money}\nCards (public {seats}): {} \n\
         Round 1 sequence: {first}\nRound 2 sequence: {second}\n",
        cards.join(" ")
    )
}

/// Returns a seat's dice in OpenSpiel's form, with -1 for dice not rolled yet.
pub fn liars_dice(s: &dyn DynState, seat: usize) -> String {
    let dice = view(s, seat)["dice"].as_array().unwrap().clone();
    let each = s.spec().params["numdice"].as_u64().unwrap() as usize;
    (0..each).map(|k| dice.get(k).map_or("-1".to_owned(), Value::to_string)).collect()
}

pub fn liars_bids(s: &dyn DynState) -> String {
    let v = view(s, 0);
    let bids = v["bids"].as_array().unwrap().iter().map(|b| format!(" {}-{}", b[0], b[1]));
    bids.chain((v["called"] == true).then(|| " Liar".to_owned())).collect()
}

pub fn liars_information(s: &dyn DynState, seat: usize) -> String {
    liars_dice(s, seat) + &liars_bids(s)
}

pub fn liars_state(s: &dyn DynState, _seat: usize) -> String {
    let dice: Vec<String> = (0..s.spec().players as usize).map(|p| liars_dice(s, p)).collect();
    let roller = view(s, 0)["rolled"].as_u64().unwrap() / s.spec().params["numdice"].as_u64().unwrap();
    let chance = if s.turn() == ToMove::Chance {
        format!(" - chance node, current roller is player {roller}")
    } else {
        String::new()
    };
    dice.join(" ") + &liars_bids(s) + &chance
}

pub fn auction_observation(s: &dyn DynState, seat: usize) -> String {
    view(s, seat)["value"].as_u64().map(|v| v.to_string()).unwrap_or_default()
}

pub fn auction_information(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let part = |word: &str, v: &Value| v.as_u64().map(|k| format!(" {word} {k}")).unwrap_or_default();
    format!("p{seat}{}{}", part("val", &v["value"]), part("bid", &v["bid"]))
}

pub fn auction_state(s: &dyn DynState, _seat: usize) -> String {
    let all = |field: &str| {
        let known = (0..s.spec().players as usize).filter_map(|p| view(s, p)[field].as_u64());
        known.map(|k| k.to_string()).collect::<Vec<_>>().join(",")
    };
    let winner = view(s, 0)["winner"]["seat"].as_u64().map(|p| format!(";{p}")).unwrap_or_default();
    format!("{};{}{winner}", all("value"), all("bid"))
}

/// Returns cards in OpenSpiel's order: by descending rank, then by descending suit.
pub fn holdem_cards(list: &Value) -> String {
    let order = |c: &&str| c.chars().map(|c| "cdhs23456789TJQKA".find(c)).collect::<Vec<_>>();
    let mut cards: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    cards.sort_by_key(order);
    cards.into_iter().rev().collect()
}

/// Returns the start of the text that OpenSpiel's two strings for a position have in common. OpenSpiel defines the pot
/// as the highest bet times the active players.
pub fn holdem_head(s: &dyn DynState, v: &Value) -> String {
    let spent: Vec<u64> = v["spent"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let players = spent.len() as u64 - v["folded"].as_array().map_or(0, Vec::len) as u64;
    let pot = spent.iter().max().copied().unwrap_or(0) * players;
    let money: Vec<String> = match v["left"].as_array() {
        Some(left) => left.iter().map(Value::to_string).collect(),
        None => spent.iter().map(|s| (i32::MAX as u64 - s).to_string()).collect(),
    };
    format!(
        "[Round {}][Player: {}][Pot: {pot}][Money: {}][Private: {}]",
        v["round"],
        s.turn().code(),
        money.join(" "),
        holdem_cards(&v["hole"])
    )
}

pub fn holdem_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let spent: Vec<String> = v["spent"].as_array().into_iter().flatten().map(Value::to_string).collect();
    format!("{}[PlayerContribution: {}]", holdem_head(s, &v), spent.join(" "))
}

pub fn holdem_information(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let limit = s.spec().params["betting"] == "limit";
    let (mut moves, mut round) = (String::new(), 0);
    for m in v["moves"].as_array().into_iter().flatten() {
        while round < m["round"].as_u64().unwrap() {
            round += 1;
            moves.push('|');
        }
        match m["name"].as_str().unwrap() {
            "Fold" => moves.push('f'),
            "Call" => moves.push('c'),
            _ if limit => moves.push('r'),
            _ => moves += &format!("r{}", m["to"]),
        }
    }
    (round..v["round"].as_u64().unwrap()).for_each(|_| moves.push('|'));
    format!("{}[Public: {}][Sequences: {moves}]", holdem_head(s, &v), holdem_cards(&v["board"]))
}

pub fn ipd_state(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let moves = |p: usize| v["moves"][p].as_str().unwrap_or_default().to_owned();
    format!("p0:{} p1:{}", moves(0), moves(1))
}

pub fn ipd_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let letters = |p: usize| v["moves"][p].as_str().unwrap_or_default().chars().rev().collect::<Vec<_>>();
    let recall = s.spec().params["recall"].as_u64().unwrap_or(0) as usize;
    let name = |c: char| if c == 'C' { "Cooperate " } else { "Defect " };
    letters(0).into_iter().zip(letters(1)).take(recall).map(|(a, b)| [name(a), name(b)].concat()).collect()
}

/// Returns the ranks of cards in OpenSpiel's names, in ascending order.
pub fn ranks(cards: impl Iterator<Item = u64>) -> String {
    let mut ranks: Vec<u64> = cards.map(|c| c / 4 + c / 53).collect();
    ranks.sort_unstable();
    let name = |r: u64| match r {
        13 => "(BWJ)",
        14 => "(CJ)",
        r => &"3456789TJQKA2"[r as usize..=r as usize],
    };
    ranks.into_iter().map(name).collect()
}

pub fn dou_dizhu_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let numbers = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let cards = |list: &Value| numbers(list).into_iter().filter_map(|c| c.as_u64()).collect::<Vec<_>>();
    let played = numbers(&v["plays"]).into_iter().flat_map(|p| cards(&p["cards"]));
    let face_up = v["face_up"]["card"].as_i64();
    let first = face_up.and_then(|_| v["face_up"]["position"].as_i64()).map(|p| p % 3);
    // OpenSpiel counts the last bidder as the landlord; -3 means no bidder.
    let bids = cards(&v["bids"]);
    let last = (0..).zip(&bids).filter(|(_, b)| **b > 0).last();
    let landlord = first.zip(last).map_or(-3, |(first, (k, _)): (i64, (i64, _))| (first + k) % 3);
    format!(
        "My hand {}\nPlayed cards {}\nface up card rank: {}start player: {}My position from Dizhu: {}",
        ranks(cards(&v["hand"]).into_iter()),
        ranks(played),
        face_up.map_or(-1, |c| c / 4 + c / 53),
        first.unwrap_or(-3),
        (seat as i64 - landlord + 3) % 3,
    )
}

/// Returns a position as the Hanabi Learning Environment prints it: hands from `seat` on; `hidden` conceals the first
/// hand.
pub fn hanabi_text(s: &dyn DynState, seat: usize, hidden: bool) -> String {
    let v = view(s, seat);
    let all = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let word = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let n = s.spec().players as usize;
    let minimal = hidden && s.spec().params["observation_type"] == "minimal";
    // In that environment, a player is to move even after the end, unless a card was still to be dealt.
    let after_end = (s.turn() == ToMove::Over && v["deck"] == 0).then(|| all(&v["moves"]).len() % n);
    let next = v["to_move"].as_u64().map(|p| p as usize).or(after_end);
    let fireworks: String = "RYGWB".chars().zip(all(&v["fireworks"])).map(|(c, h)| format!("{c}{h} ")).collect();
    let mut lines = vec![
        format!("Life tokens: {}", v["lives"]),
        format!("Info tokens: {}", v["information"]),
        format!("Fireworks: {fireworks}"),
        "Hands:".to_owned(),
    ];
    for k in 0..n {
        let p = (seat + k) % n;
        lines.extend((k > 0).then(|| "-----".to_owned()));
        lines.extend((next == Some(p)).then(|| "Cur player".to_owned()));
        for card in all(&view(s, (p + 1) % n)["hands"][p]) {
            let field = |name: &str| card.get(name).map_or("X".to_owned(), word);
            let seer = s.spec().params["observation_type"] == "seer";
            let shown = if hidden && k == 0 && !seer { "XX".to_owned() } else { field("card") };
            let told = format!("{}{}|{}{}", field("color"), field("rank"), field("colors"), field("ranks"));
            let told = if minimal { "XX|RYGWB12345".to_owned() } else { told };
            lines.push(format!("{shown} || {told}"));
        }
    }
    let discards: String = all(&v["discards"]).iter().map(|card| format!(" {}", word(card))).collect();
    lines.extend([format!("Deck size: {}", v["deck"]), format!("Discards:{discards}")]);
    lines.join("\n")
}

pub fn hanabi_observation(s: &dyn DynState, seat: usize) -> String {
    hanabi_text(s, seat, true)
}

pub fn hanabi_state(s: &dyn DynState, _seat: usize) -> String {
    hanabi_text(s, 0, false)
}

/// Returns numbers in OpenSpiel's form, joined by a separator.
pub fn numbers(v: &Value, separator: &str) -> String {
    v.as_array().into_iter().flatten().map(Value::to_string).collect::<Vec<_>>().join(separator)
}

pub fn negotiation_head(s: &dyn DynState, seats: &[usize], player: i64) -> String {
    let v = view(s, 0);
    let count = |field: &str| v[field].as_array().map_or(0, Vec::len);
    let speaks = s.spec().params["enable_utterances"] == true;
    let utters = speaks && (count("proposals") > count("utterances") || v["agreed"] == true);
    let mut text = format!("Max steps: {}\nItem pool: {}\n", v["limit"], numbers(&v["pool"], " "));
    for &p in seats {
        text += &format!("Agent {p} util vec: {}\n", numbers(&view(s, p)["values"], " "));
    }
    text + &format!("Current player: {player}\nTurn Type: {}\n", if utters { "Utterance" } else { "Proposal" })
}

pub fn negotiation_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let mut text = negotiation_head(s, &[seat], s.turn().code().into());
    for (name, field) in [("proposal", "proposals"), ("utterance", "utterances")] {
        let last = v[field].as_array().and_then(|list| list.last());
        text += &last.map(|last| format!("Most recent {name}: [{}]\n", numbers(last, ", "))).unwrap_or_default();
    }
    text
}

pub fn negotiation_state(s: &dyn DynState, _seat: usize) -> String {
    let v = view(s, 0);
    let list = |field: &str| v[field].as_array().cloned().unwrap_or_default();
    let (proposals, utterances, agreed) = (list("proposals"), list("utterances"), v["agreed"] == true);
    // After the end, this is the player who would move next. An agreement counts as a move if no utterance follows it.
    let silent = s.spec().params["enable_utterances"] == false;
    let next = (proposals.len() + usize::from(agreed && silent)) % 2;
    let mut text = negotiation_head(s, &[0, 1], v["to_move"].as_i64().unwrap_or(next as i64));
    for (k, proposal) in proposals.iter().enumerate() {
        text += &format!("Player {} proposes: [{}]", k % 2, numbers(proposal, ", "));
        text += &utterances.get(k).map(|u| format!(" utters: [{}]", numbers(u, ", "))).unwrap_or_default();
        text += "\n";
    }
    text + if agreed { "Agreement reached!\n" } else { "" }
}

pub fn bargaining_items(v: &Value) -> String {
    format!("Book: {}, Hat: {}, Basketball: {}", v[0], v[1], v[2])
}

/// Appends to `head` the offers with index `from` and above, preceded by the utterances.
pub fn bargaining_text(s: &dyn DynState, head: String, number: bool, from: usize) -> String {
    if s.turn() == ToMove::Chance {
        return "Initial chance node".to_owned();
    }
    let v = view(s, 0);
    let offers = v["offers"].as_array().cloned().unwrap_or_default();
    let mut text = head + &format!("Agreement reached? {}\n", u8::from(v["phase"] == "agreed"));
    if number {
        text += &format!("Number of offers: {}\n", offers.len());
    }
    for (k, offer) in offers.iter().enumerate().skip(from) {
        text += &format!("P{} offers: Offer: {}\n", k % 2, bargaining_items(offer));
    }
    text
}

pub fn bargaining_own(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    format!("Pool: {}\nMy values: {}\n", bargaining_items(&v["pool"]), bargaining_items(&v["values"]))
}

pub fn bargaining_observation(s: &dyn DynState, seat: usize) -> String {
    let made = view(s, seat)["offers"].as_array().map_or(0, Vec::len);
    bargaining_text(s, bargaining_own(s, seat), true, made.saturating_sub(1))
}

pub fn bargaining_information(s: &dyn DynState, seat: usize) -> String {
    bargaining_text(s, bargaining_own(s, seat), false, 0)
}

pub fn bargaining_state(s: &dyn DynState, _seat: usize) -> String {
    let values = |p: usize| format!("P{p} vals: {}\n", bargaining_items(&view(s, p)["values"]));
    let pool = format!("Pool:    {}\n", bargaining_items(&view(s, 0)["pool"]));
    bargaining_text(s, pool + &values(0) + &values(1), false, 0)
}
