// Bot plays random legal moves on a Ludex server. It is written from docs/protocol.md without a client
// library, uses JSON, and resumes after a lost connection.
//
// Usage:
//
//	bot [URL]
//
// It plays matches of one game; if LUDEX_SUITE is set, a suite of the server; if only LUDEX_RUN is set, a tournament.
// It may have several seats of a match; each seat has its own turns and message numbers.
//
// The environment variables are LUDEX_URL, LUDEX_TOKEN, LUDEX_AGENT (the bot's name), LUDEX_GAME, LUDEX_GAMES
// and LUDEX_AGAINST (an agent of the server, or "queue" for other clients in the queue); in runs LUDEX_SUITE,
// LUDEX_RUN, LUDEX_SCALE, LUDEX_ONLY (parts of the suite, separated by commas) and LUDEX_SLOTS.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	helloID   = 1
	patience  = time.Minute            // for reconnecting
	pause     = 100 * time.Millisecond // before reconnecting
	ratePause = 2 * time.Second        // after the close code 4004
	maxEnded  = 128                    // number of ended seats that a hello lists
)

// choose returns the action for a turn. Replace it to make a better player, which reads turn.View.
func choose(turn *message) int {
	pick := turn.Legal[rand.Intn(len(turn.Legal))]
	return pick.low + rand.Intn(pick.high-pick.low+1)
}

// A request is a message that the server answers.
type request struct {
	id     int64
	fields fields
	frame  []byte
	seat   *seat  // of an act
	key    actKey // of an act
}

// A seat is a seat of the bot in a match.
type seat struct {
	seatID
	seq   int64    // number of the last message, or -1
	turn  *message // last turn
	acted actKey   // key of the last act
	act   *request // last act, until its final reply
	known bool     // exists in the current session
	ended bool
}

// A bot plays until its matches or its run are over.
type bot struct {
	url   *url.URL
	games int    // number of matches; not used in a run
	entry fields // join or enrol
	isRun bool

	ws       *webSocket
	session  *message // last welcome, for resuming
	ready    bool     // the connection has its welcome
	draining bool     // the server shuts down: only finish the current matches
	done     bool

	nextID     int64      // never reused, even on a new connection
	unanswered []*request // in the order of their ids
	entering   *request   // ping and then join, or enrol, until its final reply
	missing    int        // number of matches to join
	seats      map[seatID]*seat
	ended      []*seat // in the order of their ends, at most maxEnded
}

func main() {
	rand.Seed(time.Now().UnixNano())
	b, err := newBot()
	if err == nil {
		err = b.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newBot returns a bot with the settings of the command line and the environment.
func newBot() (*bot, error) {
	address := env("LUDEX_URL", "ws://127.0.0.1:7878")
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, fmt.Errorf("expected a URL such as ws://127.0.0.1:7878, got %q", address)
	}
	numbers := make(map[string]float64)
	for _, name := range []string{"LUDEX_GAMES", "LUDEX_SCALE", "LUDEX_SLOTS"} {
		var number float64
		if err := json.Unmarshal([]byte(env(name, "1")), &number); err != nil || number <= 0 {
			return nil, fmt.Errorf("%s: expected a positive number, got %q", name, env(name, ""))
		}
		numbers[name] = number
	}
	b := &bot{url: u, games: int(numbers["LUDEX_GAMES"]), nextID: helloID + 1}
	b.seats = make(map[seatID]*seat)
	suite := env("LUDEX_SUITE", "")
	if b.isRun = suite != "" || env("LUDEX_RUN", "") != ""; b.isRun {
		b.entry = fields{"type": "enrol", "run": env("LUDEX_RUN", "go"), "suite": suite}
		b.entry["scale"], b.entry["slots"] = numbers["LUDEX_SCALE"], numbers["LUDEX_SLOTS"]
		if only := env("LUDEX_ONLY", ""); only != "" {
			b.entry["only"] = strings.Split(only, ",")
		}
		return b, nil
	}
	b.entry = fields{"type": "join", "game": env("LUDEX_GAME", "tic_tac_toe")}
	if against := env("LUDEX_AGAINST", "random"); against != "queue" {
		b.entry["against"] = []string{against}
	}
	return b, nil
}

// env returns the value of an environment variable, or otherwise if it is unset or empty.
func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// run connects, reconnects as needed, and returns when the bot is done.
func (b *bot) run() error {
	for lostAt := time.Now(); ; time.Sleep(pause) {
		err := b.connection()
		if b.ready {
			lostAt = time.Now()
		}
		b.ready = false
		var refused *message
		if b.done || errors.As(err, &refused) && !refused.Retry {
			return err
		}
		var closed *closeError
		if errors.As(err, &closed) {
			switch closed.code {
			case 4000, 4001, 4002: // protocol, unauthorized, superseded
				return err
			case 4004: // rate
				time.Sleep(ratePause)
			case 4005: // idle
				b.session = nil
			}
		}
		if time.Since(lostAt) > patience {
			return fmt.Errorf("no response from %s: %w", b.url, err)
		}
	}
}

// connection runs one connection until it is lost or the bot is done.
func (b *bot) connection() error {
	ws, err := dialWebSocket(b.url, "ludex.v1.json")
	if err != nil {
		return err
	}
	defer ws.conn.Close()
	b.ws = ws
	b.hello()
	for !b.done {
		frame, err := ws.read()
		if err == nil {
			err = b.receive(frame)
		}
		if err != nil {
			return err
		}
	}
	ws.close(1000, "")
	ws.conn.SetReadDeadline(time.Now().Add(time.Second))
	io.Copy(io.Discard, ws.reader) // until the server has closed the connection too
	return nil
}

// hello sends the first message of a connection.
func (b *bot) hello() {
	hello := fields{"type": "hello", "id": helloID, "protocol": []int{1}, "client": "example-go/1"}
	hello["agent"] = fields{"name": env("LUDEX_AGENT", "go-bot"), "kind": "bot"}
	if token := env("LUDEX_TOKEN", ""); token != "" {
		hello["token"] = token
	}
	if b.session != nil {
		seen := make(map[string]map[int]int64)
		for id, s := range b.seats {
			if s.seq < 0 {
				continue
			}
			if seen[id.Match] == nil {
				seen[id.Match] = make(map[int]int64)
			}
			seen[id.Match][id.Seat] = s.seq
		}
		hello["resume"] = fields{"session": b.session.Session, "key": b.session.Key, "seen": seen}
		hello["reclaim"] = true // if the session no longer exists, the name reclaims the seats
	}
	b.send(hello)
}

// welcome starts or continues a session.
func (b *bot) welcome(m *message) {
	b.session, b.ready = m, true
	if !m.Resumed {
		for _, s := range b.seats {
			s.seq, s.known = -1, false
		}
		for _, id := range m.Matches {
			b.seat(id).known = true
		}
		// Only acts remain valid in a new session, because they are identified by their key.
		var acts []*request
		for _, r := range b.unanswered {
			if r.seat != nil && r.seat.known {
				acts = append(acts, r)
			} else if r.seat != nil {
				r.seat.act = nil
			}
		}
		b.unanswered = acts
		taken, _ := b.count()
		b.missing = b.games - taken
		for _, join := range m.Joins {
			b.missing -= join.Left
		}
	}
	for _, r := range b.unanswered {
		b.ws.write(opText, r.frame)
	}
	if b.isRun {
		b.entering = b.request(b.entry) // also when resumed, since the run may have ended meanwhile
	} else if !m.Resumed {
		b.entering = b.request(fields{"type": "ping"}) // its pong follows the ends of matches that the bot missed
	}
}

// join requests the missing matches, after the pong. Seats that are still unknown no longer exist.
func (b *bot) join() {
	for _, s := range b.seats {
		if !s.known {
			b.finish(s, &message{Reason: "lost"})
		}
	}
	if b.missing > 0 && !b.draining {
		b.entry["count"] = b.missing
		b.entering = b.request(b.entry)
	}
}

// request sends a request with a new id.
func (b *bot) request(f fields) *request {
	f["id"] = b.nextID
	r := &request{id: b.nextID, fields: f, frame: b.send(f)}
	b.nextID++
	b.unanswered = append(b.unanswered, r)
	return r
}

// send sends a message and returns its frame.
func (b *bot) send(f fields) []byte {
	frame, _ := json.Marshal(f) // cannot fail, since all values are supported
	b.ws.write(opText, frame)
	return frame
}

// receive handles a message of the server.
func (b *bot) receive(frame []byte) error {
	m := new(message)
	if err := unmarshal(frame, m); err != nil {
		return err
	}
	switch {
	case m.Type == "welcome":
		b.welcome(m)
	case m.Type == "error" && m.Re <= helloID:
		if !m.Retry || !b.ready {
			return m
		}
	case !b.ready:
	case m.Re != 0:
		return b.reply(m)
	case m.Type == "ping":
		b.send(fields{"type": "pong", "nonce": m.Nonce})
	case m.Type == "draining":
		b.draining = !m.Resume
		b.check()
	case m.Type == "progress":
		fmt.Printf("%d finished, %d remaining\n", m.Done, m.Due)
	case m.Type == "run_end":
		fmt.Printf("%s: report %s\n%s\n", m.Reason, m.Report, m.Verdict)
		b.done = true
	case m.Type == "match_start" || m.Type == "event" || m.Type == "turn" || m.Type == "match_end":
		b.play(m)
	case m.Type == "resync":
		return b.resync(m, frame)
	}
	return nil
}

// play handles a message of a match.
func (b *bot) play(m *message) {
	if m.Type == "event" {
		m.Seat = m.Viewer // the seat of an event is that of the player, not of the viewer
	}
	s := b.seat(m.seatID)
	isNew := m.Seq > s.seq
	if isNew {
		s.seq = m.Seq
	}
	if m.Type == "turn" {
		b.answer(s, m) // even if it is not new: after a resume, a turn may be sent again
	} else if m.Type == "match_end" && isNew {
		b.finish(s, m)
	}
}

// resync replaces the state of a seat. A pending act keeps its key.
func (b *bot) resync(m *message, frame []byte) error {
	var state struct{ Turn, End *message }
	if err := unmarshal(frame, &state); err != nil {
		return err
	}
	s := b.seat(m.seatID)
	s.seq = m.Seq
	if s.act == nil || state.Turn != nil && s.act.key != state.Turn.key() {
		s.act, s.acted = nil, neverActed
	}
	if state.End != nil {
		b.finish(s, state.End)
	} else if state.Turn != nil {
		b.answer(s, state.Turn)
	}
	return nil
}

// answer acts, unless the seat has acted for this turn and try.
func (b *bot) answer(s *seat, turn *message) {
	if s.ended || len(turn.Legal) == 0 {
		return
	}
	s.turn = turn
	if key := turn.key(); key.after(s.acted) {
		act := fields{"type": "act", "match": s.Match, "seat": s.Seat, "turn": key.turn, "try": key.try}
		act["action"] = choose(turn)
		s.act, s.acted = b.request(act), key
		s.act.seat, s.act.key = s, key
	}
}

// reply handles the reply to a request.
func (b *bot) reply(m *message) error {
	var r *request
	for i := range b.unanswered {
		if b.unanswered[i].id == m.Re {
			r = b.unanswered[i]
			b.unanswered = append(b.unanswered[:i], b.unanswered[i+1:]...)
			break
		}
	}
	if r == nil {
		return nil
	}
	slot := &b.entering
	if r.seat != nil {
		slot = &r.seat.act
	}
	if *slot != r {
		return nil // another request has replaced it
	}
	*slot = nil
	switch m.Type {
	case "pong":
		b.join()
	case "refused":
		if turn := r.seat.turn; turn.Turn == m.Turn && m.TriesLeft > 0 {
			again := *turn
			if again.Try = m.Try; m.Legal != nil {
				again.Legal = m.Legal
			}
			b.answer(r.seat, &again)
		}
	case "error":
		isLost := m.Code == "unknown_match" || m.Code == "not_your_seat"
		isLate := m.Code == "stale_turn" || m.Code == "conflict" || m.Code == "not_your_turn" || m.Code == "match_over"
		switch {
		case m.Retry:
			time.Sleep(time.Duration(m.AfterMs+100) * time.Millisecond)
			*slot = b.request(r.fields)
			(*slot).seat, (*slot).key = r.seat, r.key
		case r.seat == nil || !isLost && !isLate:
			return m
		case isLost && !b.isRun: // the matches of a run come back after enrol
			b.finish(r.seat, &message{Reason: m.Code})
		case m.Code == "not_your_turn":
			r.seat.acted = neverActed // the turn may still come, if the server lost it in a crash
		}
	}
	return nil
}

// seat returns the seat of an id, which is created if it is unknown.
func (b *bot) seat(id seatID) *seat {
	if b.seats[id] == nil {
		b.seats[id] = &seat{seatID: id, seq: -1, acted: neverActed, known: true}
	}
	return b.seats[id]
}

// count returns the number of matches that have ended or are running, and the number of the running ones.
func (b *bot) count() (taken, running int) {
	matches := make(map[string]bool)
	for id, s := range b.seats {
		if !s.ended && !matches[id.Match] {
			running++
		}
		matches[id.Match] = matches[id.Match] || !s.ended
	}
	return len(matches), running
}

// finish ends a seat.
func (b *bot) finish(s *seat, end *message) {
	if s.ended {
		return
	}
	s.ended, s.turn, s.act = true, nil, nil
	if b.ended = append(b.ended, s); len(b.ended) > maxEnded {
		b.ended[0].seq = -1
		b.ended = b.ended[1:]
	}
	fmt.Printf("%s: seat %d: %s %s\n", s.Match, s.Seat, end.Reason, end.Returns)
	b.check()
}

// check ends the bot if its matches are finished, or if the server shuts down and no match is running. A run ends
// with the message run_end alone.
func (b *bot) check() {
	if b.isRun {
		return
	}
	taken, running := b.count()
	b.done = taken-running >= b.games || b.draining && running == 0
}
