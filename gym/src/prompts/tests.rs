use ludex_agents::AgentSpec;
use ludex_agents::llm::{PositionQuery, Prompt, prompt};
use ludex_env::batch::{Autoreset, BatchConfig, GymView};
use ludex_env::{Actions, ResetSeeds, Stream};
use ludex_games::load;

use super::*;

/// One environment of a game with all seats played by the client.
struct Played {
    game: GameRef,
    batch: Box<dyn DynBatch>,
    out: Batch,
    rng: Stream,
}

impl Played {
    fn new(game: &str, seed: u64) -> Self {
        let game = load(game).unwrap();
        let views = Some(vec![GymView::Prompt]);
        let config = BatchConfig {
            count: 1,
            views,
            autoreset: Autoreset::Disabled,
            observer: Observer::All,
            ..BatchConfig::default()
        };
        let mut batch = game.batch(config).unwrap();
        let mut out = Batch::default();
        batch.reset(None, &ResetSeeds::Base(seed), &mut out).unwrap();
        Played { game, batch, out, rng: Stream::from_text("prompts") }
    }

    fn seats(&self) -> Vec<Seat> {
        self.batch.turn(0).seats().iter().collect()
    }

    /// Plays a random move of each seat to move.
    fn play(&mut self) {
        let state = self.batch.state(0).unwrap();
        let mut moves: Vec<Option<Move>> = vec![None; self.batch.width()];
        for seat in self.seats() {
            let action = state.random_action(seat, &mut self.rng);
            let column = if moves.len() == 1 { 0 } else { seat };
            moves[column] = Some(Move::Id(action.into()));
        }
        self.batch.step(None, Actions::Moves(&moves), &mut self.out).unwrap();
    }

    fn prompts(&self, settings: &str) -> EnvPrompts {
        EnvPrompts::new(&self.game, &serde_json::from_str(settings).unwrap(), true).unwrap()
    }

    /// Returns the prompt that `ludex games prompt` prints for the position.
    fn preview(&self, args: &str, seat: Seat) -> Prompt {
        let spec = AgentSpec::parse(&format!("llm model=none {args}")).unwrap();
        let h = self.batch.snapshot(None, &[]).unwrap().remove(0).h;
        prompt(&spec, &self.game, &PositionQuery { h, seat: Some(seat) }).unwrap()
    }

    fn answer(&mut self, prompts: &mut EnvPrompts, answer: &str) -> ReadAnswer {
        let mut answers = vec![None; self.batch.width()];
        let seat = self.seats()[0];
        let column = if answers.len() == 1 { 0 } else { seat };
        answers[column] = Some(answer.to_owned());
        let mut step = StepAnswers::read(prompts, &*self.batch, &[0], &answers).unwrap();
        self.batch.step(None, Actions::Moves(&step.moves), &mut self.out).unwrap();
        step.keep(prompts);
        step.read[column].take().unwrap()
    }
}

#[test]
fn prompts_of_all_games_equal_previews() {
    let settings = [
        ("{}", ""),
        (r#"{"history": 6, "prompting": "cot", "format": "text"}"#, "history=6 prompting=cot format=text"),
        (r#"{"prompting": "chat", "legal": false}"#, "prompting=chat legal=false"),
    ];
    for entry in ludex_games::games() {
        let mut env = Played::new(entry.info.id, 3);
        for (at, (json, args)) in (0..10).zip(settings.iter().cycle()) {
            if env.seats().is_empty() {
                break;
            }
            let prompts = env.prompts(json);
            prompts.write(&*env.batch, &mut env.out, u64::MAX).unwrap();
            let all = env.out.prompt.clone().unwrap();
            assert_eq!(all.len(), env.game.spec().players as usize);
            for (seat, own) in all.into_iter().enumerate() {
                let wanted = env.seats().contains(&seat).then(|| env.preview(args, seat).messages);
                assert_eq!(own, wanted, "{} move {at} seat {seat} {args}", entry.info.id);
            }
            env.play();
        }
    }
}

#[test]
fn answers_play_legal_moves_and_refused_ones_change_only_the_prompt() {
    let mut env = Played::new("tic_tac_toe", 0);
    let mut prompts = env.prompts("{}");
    let first = prompts.prompt(&*env.batch, 0, 0).unwrap();
    for (answer, verdict) in [
        ("", Verdict::Empty),
        ("I would rather not say what I think about it, as it is a difficult position.", Verdict::Unparsed),
        ("Answer: o(1,1)", Verdict::Unparsed),
    ] {
        let before = env.batch.snapshot(None, &[]).unwrap();
        let read = env.answer(&mut prompts, answer);
        assert_eq!((read.verdict, read.action), (verdict, None), "{answer}");
        assert_eq!(env.batch.snapshot(None, &[]).unwrap(), before);
        let words = read.message.unwrap();
        let now = prompts.prompt(&*env.batch, 0, 0).unwrap();
        assert_eq!(now[0], first[0]);
        assert!(words.starts_with("You have answered this question before") && now[1].content.contains(&words));
        assert!(words.ends_with("Choose another move."), "{words}");
    }
    let read = env.answer(&mut prompts, "<think>x(0,0)?</think>\nAnswer: x(1,1)");
    assert_eq!((read.verdict, read.action, read.text.as_deref()), (Verdict::Ok, Some(4), Some("x(1,1)")));
    prompts.forget(|i| i == 0);
    let read = env.answer(&mut prompts, r#"{"move": "o(1,1)"}"#);
    assert_eq!(read.verdict, Verdict::Illegal);
    assert!(read.message.unwrap().contains("o(1,1)"));
}

#[test]
fn refused_document_is_listed_with_its_issues() {
    let mut env = Played::new("bargaining(talk=true)", 1);
    let mut prompts = env.prompts("{}");
    let read = env.answer(&mut prompts, r#"I offer {"offer": [70, 0, 0], "say": "More for me."}"#);
    assert_eq!((read.verdict, read.issues.unwrap()[0].path.as_str()), (Verdict::Illegal, "/offer/0"));
    assert!(read.message.unwrap().contains("/offer/0: "));
    let read = env.answer(&mut prompts, r#"{"move": {"offer": [0, 0, 0], "say": "Take it."}}"#);
    assert_eq!(read.verdict, Verdict::Ok);
    assert_eq!(read.document, Some(serde_json::json!({"offer": [0, 0, 0], "say": "Take it."})));
}

#[test]
fn indistinguishable_states_give_equal_prompts() {
    let game = load("kuhn_poker").unwrap();
    let config = BatchConfig { count: 2, chance: ludex_env::batch::ChanceBy::Client, ..BatchConfig::default() };
    let mut batch = game.batch(config).unwrap();
    let mut out = Batch::default();
    batch.reset(None, &ResetSeeds::Base(0), &mut out).unwrap();
    // The first seat has the same card, the second seat another one.
    for outcomes in [[2, 2], [0, 1]] {
        batch.step(None, Actions::Ids(&outcomes), &mut out).unwrap();
    }
    let prompts = EnvPrompts::new(&game, &serde_json::from_str(r#"{"history": 9}"#).unwrap(), true).unwrap();
    assert_eq!(prompts.prompt(&*batch, 0, 0).unwrap(), prompts.prompt(&*batch, 1, 0).unwrap());
    batch.step(None, Actions::Ids(&[1, 1]), &mut out).unwrap();
    assert_ne!(prompts.prompt(&*batch, 0, 1).unwrap(), prompts.prompt(&*batch, 1, 1).unwrap());
}

#[test]
fn no_answer_causes_a_panic() {
    let parts =
        ["{", "}", "\"move\":", "Answer:", "\\boxed{", "<think>", "</think>", "\u{1f600}", "\n", "x(1,1)", "\0", "é"];
    let mut rng = Stream::from_text("answers");
    for entry in ludex_games::games() {
        let env = Played::new(entry.info.id, 1);
        let prompts = env.prompts("{}");
        let seat = env.seats()[0];
        let answers: Vec<String> = (0..20)
            .map(|_| {
                let bytes: Vec<u8> = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect();
                let noise = String::from_utf8_lossy(&bytes).into_owned();
                let words: String = (0..rng.below(9)).map(|_| parts[rng.below(parts.len())]).collect();
                format!("{noise}{words}")
            })
            .collect();
        let read = prompts.read_all(&*env.batch, 0, seat, &answers).unwrap();
        assert_eq!(read.len(), answers.len());
        assert!(read.iter().all(|read| (read.verdict == Verdict::Ok) == read.message.is_none()), "{}", entry.info.id);
    }
}

#[test]
fn long_answers_are_read_in_bounded_time() {
    let env = Played::new("texas_holdem", 1);
    let prompts = env.prompts("{}");
    let answer = "move: raise to 77777\n".repeat(3_000);
    let read = prompts.read_all(&*env.batch, 0, env.seats()[0], &[answer]).unwrap();
    assert_ne!(read[0].verdict, Verdict::Empty);
}

#[test]
fn prompts_list_the_last_refused_answers_only() {
    let mut env = Played::new("tic_tac_toe", 0);
    let mut prompts = env.prompts("{}");
    for _ in 0..MAX_ATTEMPTS + 3 {
        env.answer(&mut prompts, "Answer: nowhere");
    }
    assert_eq!(prompts.attempts(0, 0).len(), MAX_ATTEMPTS);
    assert!(prompts.bytes() > 0);
    assert_eq!(prompts.fork(Some(&[0])).attempts(0, 0).len(), MAX_ATTEMPTS);
    prompts.forget(|i| i == 0);
    assert_eq!(prompts.bytes(), 0);
}

#[test]
fn prompts_beyond_the_limit_of_a_batch_are_null() {
    let game = load("tic_tac_toe").unwrap();
    let mut batch = game.batch(BatchConfig { count: 3, ..BatchConfig::default() }).unwrap();
    let mut out = Batch::default();
    batch.reset(None, &ResetSeeds::Base(0), &mut out).unwrap();
    let prompts = EnvPrompts::new(&game, &Params::new(), true).unwrap();
    prompts.write(&*batch, &mut out, 1).unwrap();
    assert_eq!(out.prompt.unwrap().iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn unknown_settings_are_refused_with_their_path() {
    let game = load("tic_tac_toe").unwrap();
    let refused = |settings: &str| {
        let refusal = EnvPrompts::new(&game, &serde_json::from_str(settings).unwrap(), true).err().unwrap();
        (refusal.code, refusal.path.as_deref().unwrap().to_owned())
    };
    for (settings, path) in [
        (r#"{"model": "m"}"#, "prompt.model"),
        (r#"{"prompting": "loud"}"#, "prompt.prompting"),
        (r#"{"prompting": "tot"}"#, "prompt.prompting"),
        (r#"{"history": -1}"#, "prompt.history"),
        (r#"{"legal": "perhaps"}"#, "prompt.legal"),
    ] {
        assert_eq!(refused(settings), (ErrorCode::BadField, path.to_owned()));
    }
}
