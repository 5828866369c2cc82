package main

import (
	"encoding/json"
	"errors"
)

// fields holds the fields of a message to the server.
type fields map[string]any

// A message is a message of the server, with the fields that the bot or a better player needs. The turn of a
// resync is a message, which the method resync decodes.
type message struct {
	Type string
	Re   int64

	// Messages of a match.
	seatID
	Viewer, Turn, Try int
	Seq               int64
	Legal             []actionRange
	Names             []string        // for choose
	View              json.RawMessage // for choose
	TriesLeft         int             `json:"tries_left"`

	// The messages welcome, match_end, progress and run_end.
	Session, Key     string
	Resumed          bool
	Matches          []seatID
	Joins            []struct{ Left int }
	Done, Due        int
	Reason, Report   string
	Returns, Verdict json.RawMessage

	// The messages error, ping and draining.
	Code, Message string
	Retry, Resume bool
	AfterMs       int `json:"after_ms"`
	Nonce         int64
}

// A seatID names a seat of a match.
type seatID struct {
	Match string
	Seat  int
}

// An actionRange is an entry of a list of legal actions: one id or, in games with thousands of ids, an inclusive range.
type actionRange struct{ low, high int }

func (r *actionRange) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		var pair [2]int
		err := json.Unmarshal(data, &pair)
		r.low, r.high = pair[0], pair[1]
		return err
	}
	err := json.Unmarshal(data, &r.low)
	r.high = r.low
	return err
}

// An actKey is the turn and the try of an act. The server accepts one act of a seat per key, and the bot sends one.
type actKey struct{ turn, try int }

var neverActed = actKey{-1, 0}

func (k actKey) after(other actKey) bool {
	return k.turn > other.turn || k.turn == other.turn && k.try > other.try
}

func (m *message) key() actKey { return actKey{m.Turn, m.Try} }

// Error returns the text of a message of the type error.
func (m *message) Error() string { return m.Code + ": " + m.Message }

// unmarshal decodes a message. It skips values of unexpected types, such as those in unknown messages.
func unmarshal(frame []byte, value any) error {
	err := json.Unmarshal(frame, value)
	var mismatch *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &mismatch) {
		return &message{Code: "unreadable message", Message: err.Error()}
	}
	return nil
}
