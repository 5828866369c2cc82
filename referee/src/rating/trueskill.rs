//! TrueSkill, with the constants of the Python package `trueskill`, for comparison with published tables.

use skillratings::MultiTeamOutcome;
use skillratings::Outcomes;
use skillratings::trueskill::{TrueSkillConfig, TrueSkillRating, trueskill as one_on_one, trueskill_multi_team};

use super::PlayedGame;

/// Skill as a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrueSkill {
    /// Mean; the value in LLMArena's tables.
    pub mu: f64,
    pub sigma: f64,
}

/// Returns the skill of each of `players` after all games (Herbrich, Minka, Graepel 2006): initial mean 25 and standard
/// deviation 25/3, beta 25/6, tau 25/300, draw probability 0.10.
///
/// Seats of one team are rated as a team; a team has the score of its first seat. Tied teams are ordered by their first
/// seats, as in the Python package; with three or more teams, the order slightly affects the skills. After a forfeit
/// among three or more seats, the other seats count as tied. Games of a player against itself, and games of one seat,
/// change nothing.
///
/// # Panics
/// If a game names a player outside `0..players`.
pub fn trueskill(players: usize, games: &[PlayedGame]) -> Vec<TrueSkill> {
    let mut skills = Skills::new(players);
    games.iter().for_each(|game| skills.play(game));
    (0..players).map(|player| skills.of(player)).collect()
}

/// Skills updated game by game, with the rules of [`trueskill`].
pub struct Skills {
    config: TrueSkillConfig,
    skills: Vec<TrueSkillRating>,
}

impl Skills {
    /// Creates the skills before the first game.
    pub fn new(players: usize) -> Self {
        Skills { config: TrueSkillConfig::new(), skills: vec![TrueSkillRating::new(); players] }
    }

    /// Returns the current skill of a player.
    ///
    /// # Panics
    /// If the player is unknown.
    pub fn of(&self, player: usize) -> TrueSkill {
        TrueSkill { mu: self.skills[player].rating, sigma: self.skills[player].uncertainty }
    }

    /// Updates the skills with one game.
    ///
    /// # Panics
    /// If the game names a player that does not exist.
    pub fn play(&mut self, game: &PlayedGame) {
        let Skills { config, skills } = self;
        let teams = teams(game);
        let mut who: Vec<usize> = game.seats.clone();
        who.sort_unstable();
        who.dedup();
        if who.len() < game.seats.len() || teams.len() < 2 {
            return;
        }
        if let ([a], [b]) = (&*teams[0].seats, &*teams[1].seats)
            && teams.len() == 2
        {
            let outcome = match teams[0].score.total_cmp(&teams[1].score) {
                std::cmp::Ordering::Greater => Outcomes::WIN,
                std::cmp::Ordering::Equal => Outcomes::DRAW,
                std::cmp::Ordering::Less => Outcomes::LOSS,
            };
            let (a, b) = (game.seats[*a], game.seats[*b]);
            (skills[a], skills[b]) = one_on_one(&skills[a], &skills[b], &outcome, config);
            return;
        }
        let rated: Vec<Vec<TrueSkillRating>> =
            teams.iter().map(|t| t.seats.iter().map(|&s| skills[game.seats[s]]).collect()).collect();
        let ranked: Vec<(&[TrueSkillRating], MultiTeamOutcome)> = rated
            .iter()
            .zip(&teams)
            .map(|(r, t)| (&r[..], MultiTeamOutcome::new(teams.iter().filter(|o| o.score > t.score).count() + 1)))
            .collect();
        // The only error is a wrong number of weights, and no weights are passed.
        let Ok(after) = trueskill_multi_team(&ranked, config, None) else { return };
        for (team, after) in teams.iter().zip(after) {
            for (&seat, skill) in team.seats.iter().zip(after) {
                skills[game.seats[seat]] = skill;
            }
        }
    }
}

struct Team {
    seats: Vec<usize>,
    score: f64,
}

fn teams(game: &PlayedGame) -> Vec<Team> {
    let mut out: Vec<(usize, Team)> = Vec::new();
    for seat in 0..game.seats.len() {
        let id = game.teams.get(seat).copied().unwrap_or(seat);
        if let Some((_, team)) = out.iter_mut().find(|(t, _)| *t == id) {
            team.seats.push(seat);
            continue;
        }
        let score = match game.forfeit {
            Some(offender) if offender == seat => -1.0,
            Some(_) => 0.0,
            None => game.scores.get(seat).copied().unwrap_or(0.0),
        };
        out.push((id, Team { seats: vec![seat], score }));
    }
    out.into_iter().map(|(_, team)| team).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 2e-3, "{got} is not {want}");
    }

    #[test]
    fn skills_agree_with_the_python_package() {
        let win = trueskill(2, &[PlayedGame::two(0, 1, 1.0)]);
        near(win[0].mu, 29.396);
        near(win[1].mu, 20.604);
        near(win[0].sigma, 7.171);
        let draw = trueskill(2, &[PlayedGame::two(0, 1, 0.5)]);
        near(draw[0].mu, 25.0);
        near(draw[1].sigma, 6.458);
    }

    #[test]
    fn free_for_all_ranks_by_score() {
        let game = PlayedGame { seats: vec![0, 1, 2], scores: vec![1.0, 3.0, 2.0], ..PlayedGame::default() };
        let s = trueskill(3, &[game]);
        assert!(s[1].mu > s[2].mu && s[2].mu > s[0].mu, "{s:?}");
        near(s[2].mu, 25.0);
    }

    #[test]
    fn one_player_and_a_team_of_four_are_rated() {
        let game = PlayedGame {
            seats: vec![0, 1, 2, 3, 4],
            scores: vec![1.0, 1.0, 1.0, 1.0, -1.0],
            teams: vec![0, 0, 0, 0, 1],
            ..PlayedGame::default()
        };
        let s = trueskill(5, &[game]);
        near(s[0].mu - 25.0, 25.0 - s[4].mu);
        assert!(s[0].mu > 25.0 && (s[0].mu - s[3].mu).abs() < 1e-9);
    }

    #[test]
    fn games_against_oneself_do_not_change_the_skill() {
        let s = trueskill(1, &[PlayedGame::two(0, 0, 1.0)]);
        assert_eq!((s[0].mu, s[0].sigma), (25.0, 25.0 / 3.0));
    }
}
