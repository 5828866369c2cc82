//! HTML pages of the server's website. Each page is rendered from a view, a plain struct with the page's data.
//!
//! ```
//! use ludex_pages::login::LoginPage;
//! use ludex_pages::{AccountLink, Page, Visitor};
//!
//! let view = LoginPage { next: "/matches".to_owned(), why: "the token has <expired>".to_owned() };
//! let visitor = Visitor { account: AccountLink::Unknown, may_register: false };
//! let html = Page::Login(view).render(visitor).unwrap();
//! assert!(html.starts_with("<!doctype html>"));
//! assert!(html.contains("the token has &lt;expired&gt;"));
//! ```
//!
//! Invariants:
//! - The crate does not access the server, the store or the network. A view contains everything that its page displays.
//! - Templates escape all texts of a view, except pictures (SVG) and the rules of a game (HTML).
//! - Names from clients are truncated and displayed without control characters.
#![forbid(unsafe_code)]

pub mod agent;
pub mod assets;
pub mod curve;
pub mod error;
mod first_bot;
pub mod game;
pub mod home;
pub mod ladders;
pub mod login;
pub mod match_list;
pub mod match_page;
pub mod play;
pub mod ratings;
pub mod register;
pub mod result_text;
pub mod run;
pub mod runs;
mod templates;
pub mod text;

use serde::Serialize;

use agent::AgentPage;
use error::ErrorPage;
use game::GamePage;
use home::HomePage;
use ladders::{LadderListPage, LadderPage};
use login::LoginPage;
use match_list::MatchListPage;
use match_page::MatchPage;
pub use minijinja::Error as RenderError;
use play::PlayPage;
use register::{RegisterPage, RegisteredPage};
use run::{ConsentPage, RunPage, RunPlayPage};
use runs::RunListPage;

/// Page, with everything that it displays except the links for its visitor.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Page {
    /// Ratings, opponents and matches of an agent.
    Agent(AgentPage),
    /// Text that a person accepts before playing a run.
    Consent(ConsentPage),
    /// Error in place of the requested page.
    Error(ErrorPage),
    /// Rules, ratings and matches of a game.
    Game(GamePage),
    /// Front page with the games.
    Home(HomePage),
    /// Table of a standing ladder.
    Ladder(LadderPage),
    /// List of the standing ladders.
    LadderList(LadderListPage),
    /// Form for entering a token.
    Login(LoginPage),
    /// Positions, moves and result of a match.
    Match(Box<MatchPage>),
    /// List of matches, with a filter.
    MatchList(MatchListPage),
    /// Page on which a person plays a game.
    Play(PlayPage),
    /// Form for registering an owner.
    Register(RegisterPage),
    /// Token of a new owner, displayed once.
    Registered(RegisteredPage),
    /// State and results of a run.
    Run(Box<RunPage>),
    /// List of runs, seasons and suites.
    RunList(RunListPage),
    /// Page on which a person plays a run.
    RunPlay(RunPlayPage),
}

impl Page {
    /// Returns the file name of the page's template.
    pub fn template(&self) -> &'static str {
        match self {
            Page::Agent(_) => "agent.html",
            Page::Consent(_) => "consent.html",
            Page::Error(_) => "error.html",
            Page::Game(_) => "game.html",
            Page::Home(_) => "home.html",
            Page::Ladder(_) => "ladder.html",
            Page::LadderList(_) => "ladders.html",
            Page::Login(_) => "login.html",
            Page::Match(_) => "match.html",
            Page::MatchList(_) => "matches.html",
            Page::Play(_) => "play.html",
            Page::Register(_) => "register.html",
            Page::Registered(_) => "registered.html",
            Page::Run(_) => "run.html",
            Page::RunList(_) => "runs.html",
            Page::RunPlay(_) => "run-play.html",
        }
    }

    /// Returns the page as HTML, with the links for its visitor.
    ///
    /// # Errors
    ///
    /// Fails if the template cannot display the view.
    pub fn render(&self, visitor: Visitor) -> Result<String, RenderError> {
        templates::render(self, visitor)
    }
}

/// Visitor of a page, who determines its links.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// Link for logging in or out.
    pub account: AccountLink,
    /// True if visitors may register an owner.
    pub may_register: bool,
}

/// Link for logging in or out, by the account of the visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountLink {
    /// Visitor with a token: the link logs out.
    Known,
    /// Visitor without a token, on a server that requires a token: the link logs in.
    Unknown,
    /// Visitor of a server that requires no token: no link.
    Needless,
}
