//! Spectators of one match. Each event is encoded once per audience, and events are sent in batches.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_play::machine::{MatchMachine, Watcher};
use ludex_protocol::message::{MatchFrame, MatchView};

use crate::frame::{Broadcast, EventBatch};
use crate::mailbox::{Mailbox, Undelivered};

/// Maximum number of watchers for which events are sent without a delay.
const FEW: usize = 10;
/// Batching delay per additional watcher. A write takes about a hundredth of this delay, so a thousand watchers cost
/// about 1 % of a core.
const EACH: Duration = Duration::from_millis(1);
/// Maximum batching delay. After a pause of this length, the next event is sent without a delay.
const WAIT: Duration = Duration::from_secs(1);
/// Maximum number of buffered events per audience.
const WAITING: usize = 256;
/// Interval between attempts to resynchronize slow watchers.
const BEHIND: Duration = Duration::from_millis(100);

/// Watchers of a match, and their buffered events.
#[derive(Default)]
pub(super) struct Spectators {
    spectators: Vec<Spectator>,
    audiences: Vec<Audience>,
    /// Time of the last batch.
    sent: Option<Instant>,
}

/// Watcher of a match.
pub(super) struct Spectator {
    pub session: String,
    pub mailbox: Mailbox,
    pub to: Watcher,
    /// Views to include in each event.
    pub views: Vec<MatchView>,
    /// True if the watcher has missed events and needs a resync.
    pub behind: bool,
}

impl Spectator {
    /// Delivers `events` to the watcher. Returns false if the watcher has disconnected. If the mailbox is half full,
    /// the watcher gets no more events until a resync, since a full mailbox would close the connection.
    fn hears(&mut self, events: &EventBatch) -> bool {
        let told = if self.mailbox.roomy() { self.mailbox.broadcast(events.clone()) } else { Err(Undelivered::Full) };
        self.behind = told.is_err();
        told != Err(Undelivered::Closed)
    }
}

/// Watchers with the same access level and views, and their buffered events.
struct Audience {
    to: Watcher,
    views: Vec<MatchView>,
    waiting: Vec<Arc<Broadcast>>,
}

impl Audience {
    fn holds(&self, spectator: &Spectator) -> bool {
        self.to == spectator.to && self.views == spectator.views
    }
}

impl Spectators {
    /// Adds a watcher that has received all events so far.
    pub fn enter(&mut self, spectator: Spectator) {
        self.send();
        if !self.audiences.iter().any(|audience| audience.holds(&spectator)) {
            let (to, views) = (spectator.to, spectator.views.clone());
            self.audiences.push(Audience { to, views, waiting: Vec::new() });
        }
        self.spectators.push(spectator);
    }

    /// Removes the watcher of a session.
    pub fn leave(&mut self, session: &str) {
        self.spectators.retain(|s| s.session != session);
        self.empty_out();
    }

    /// Sends a frame to the watchers with the access level `to`. The frame is built once for each set of views.
    pub fn tell(&mut self, machine: &MatchMachine, to: Watcher, frame: MatchFrame) {
        for audience in self.audiences.iter_mut().filter(|audience| audience.to == to) {
            let mut frame = frame.clone();
            if let (MatchFrame::Event(event), false) = (&mut frame, audience.views.is_empty()) {
                event.view = Some(machine.spectator_view(to, &audience.views));
            }
            let event = Broadcast::new(frame.into());
            // Within a batch only the last event carries a picture: all pictures would take megabytes.
            if let (true, Some(before)) = (event.pictured(), audience.waiting.last_mut().and_then(Arc::get_mut)) {
                before.leave_out_picture();
            }
            audience.waiting.push(Arc::new(event));
        }
        self.send_if_due();
    }

    /// Returns the time until the next batch or resync is due, if any.
    pub fn wake(&self) -> Option<Duration> {
        let due = self.due().map(|at| at.saturating_duration_since(Instant::now()));
        due.into_iter().chain(self.any_behind().then_some(BEHIND)).min()
    }

    /// Sends the buffered events whose delay is over.
    pub fn send_if_due(&mut self) {
        let full = self.audiences.iter().any(|audience| audience.waiting.len() >= WAITING);
        if full || self.due().is_some_and(|at| at <= Instant::now()) {
            self.send();
        }
    }

    /// Sends all buffered events.
    pub fn send(&mut self) {
        for audience in self.audiences.iter_mut().filter(|audience| !audience.waiting.is_empty()) {
            self.sent = Some(Instant::now());
            let events: EventBatch = audience.waiting.drain(..).collect();
            self.spectators.retain_mut(|s| s.behind || !audience.holds(s) || s.hears(&events));
        }
    }

    /// Sends a resync to each watcher that missed events and has room in its mailbox again.
    pub fn catch_up(&mut self, machine: &MatchMachine) {
        if !self.any_behind() {
            return;
        }
        self.send();
        for audience in &self.audiences {
            let made: OnceCell<EventBatch> = OnceCell::new();
            let resync = || made.get_or_init(|| Arc::new([Arc::new(Broadcast::new(machine.resync(audience.to)))]));
            let due = |s: &Spectator| s.behind && audience.holds(s) && s.mailbox.roomy();
            self.spectators.retain_mut(|s| !due(s) || s.hears(resync()));
        }
        self.empty_out();
    }

    /// Returns true if a watcher has missed events.
    pub fn any_behind(&self) -> bool {
        self.spectators.iter().any(|s| s.behind)
    }

    /// Returns true if every watcher has received all events.
    pub fn are_up_to_date(&self) -> bool {
        !self.any_behind() && self.due().is_none()
    }

    /// Returns the time at which buffered events are due.
    fn due(&self) -> Option<Instant> {
        let waits = self.audiences.iter().any(|audience| !audience.waiting.is_empty());
        waits.then(|| self.sent.map_or_else(Instant::now, |sent| sent + pause(self.spectators.len())))
    }

    /// Removes audiences without watchers.
    fn empty_out(&mut self) {
        let Spectators { audiences, spectators, .. } = self;
        audiences.retain(|audience| spectators.iter().any(|s| audience.holds(s)));
    }
}

/// Returns the delay between two batches for this number of watchers.
fn pause(watchers: usize) -> Duration {
    let further = u32::try_from(watchers.saturating_sub(FEW)).unwrap_or(u32::MAX);
    EACH.saturating_mul(further).min(WAIT)
}

#[cfg(test)]
mod tests {
    use ludex_protocol::message::{Queued, ServerMessage};
    use tokio::sync::mpsc;

    use super::*;
    use crate::mailbox::MailboxItem;

    fn event(n: u64) -> Arc<Broadcast> {
        let queued = Queued { join: n.to_string(), waiting: 1, eta_ms: None };
        Arc::new(Broadcast::new(ServerMessage::Queued(queued)))
    }

    fn enter(crowd: &mut Spectators, name: &str, views: Vec<MatchView>) -> mpsc::Receiver<MailboxItem> {
        let (sender, heard) = mpsc::channel(8);
        let session = name.to_owned();
        crowd.enter(Spectator {
            session,
            mailbox: Mailbox::new(sender, ludex_protocol::Encoding::Json),
            to: Watcher::Public,
            views,
            behind: false,
        });
        heard
    }

    /// Returns the sequence numbers of the received events, by batch.
    fn all(heard: &mut mpsc::Receiver<MailboxItem>) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        while let Ok(MailboxItem::Broadcast(events)) = heard.try_recv() {
            let text = |event: &Arc<Broadcast>| event.frame(ludex_protocol::Encoding::Json).unwrap();
            out.push(events.iter().map(|event| text(event).message.into_text().unwrap().to_string()).collect());
        }
        let number = |text: String| text.split("\"join\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        out.into_iter().map(|events: Vec<String>| events.into_iter().map(number).collect()).collect()
    }

    #[test]
    fn batching_delay_grows_with_number_of_watchers() {
        assert_eq!([0, 1, FEW].map(pause), [Duration::ZERO; 3]);
        assert_eq!(pause(FEW + 100), Duration::from_millis(100));
        assert_eq!([10_000, usize::MAX].map(pause), [WAIT; 2]);
    }

    #[test]
    fn new_watcher_does_not_get_buffered_events() {
        let mut crowd = Spectators::default();
        let mut first = enter(&mut crowd, "first", Vec::new());
        let mut other = enter(&mut crowd, "other", vec![MatchView::Picture]);
        crowd.audiences[0].waiting.extend([event(1), event(2)]);
        crowd.audiences[1].waiting.push(event(3));
        let mut late = enter(&mut crowd, "late", Vec::new());
        assert_eq!([&mut first, &mut other, &mut late].map(all), [vec![vec!["1", "2"]], vec![vec!["3"]], vec![]]);
        crowd.leave("other");
        assert_eq!(crowd.audiences.len(), 1);
        crowd.audiences[0].waiting.push(event(4));
        crowd.send();
        crowd.send();
        assert_eq!([&mut first, &mut late].map(all), [vec![vec!["4"]], vec![vec!["4"]]]);
        drop(late);
        crowd.audiences[0].waiting.push(event(5));
        crowd.send();
        assert_eq!(crowd.spectators.len(), 1, "the closed watcher is removed");
    }

    #[test]
    fn watcher_without_mailbox_room_falls_behind() {
        let mut crowd = Spectators::default();
        let mut heard = enter(&mut crowd, "slow", Vec::new());
        for n in 0..8 {
            crowd.audiences[0].waiting.push(event(n));
            crowd.send();
        }
        assert!(crowd.any_behind());
        assert_eq!(all(&mut heard).len(), 4, "half of the box stays free");
        assert_eq!(crowd.wake(), Some(BEHIND));
    }
}
