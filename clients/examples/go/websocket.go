package main

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
	"unicode/utf8"
)

// Opcodes of frames (RFC 6455, section 5.2).
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
)

const (
	maxMessageBytes = 64 << 20
	timeout         = 10 * time.Second // for the handshake and for each write
	silence         = 20 * time.Second // before a ping, and for its pong
)

// A closeError reports a close frame of the server, or the reason why the client sent one.
type closeError struct {
	code   int // see RFC 6455, section 7.4.1, and section 6 of docs/protocol.md
	reason string
}

func (e *closeError) Error() string { return fmt.Sprintf("closed: %d %s", e.code, e.reason) }

// A webSocket is the client's end of a WebSocket with text messages, for use by one goroutine.
type webSocket struct {
	conn   net.Conn
	reader *bufio.Reader
}

// dialWebSocket connects to a URL of the scheme ws or wss.
func dialWebSocket(u *url.URL, protocol string) (*webSocket, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), port), timeout)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "wss" {
		conn = tls.Client(conn, &tls.Config{ServerName: u.Hostname()})
	}
	ws := &webSocket{conn: conn, reader: bufio.NewReader(conn)}
	if err := ws.upgrade(u, protocol); err != nil {
		conn.Close()
		return nil, err
	}
	return ws, nil
}

// upgrade performs the opening handshake.
func (ws *webSocket) upgrade(u *url.URL, protocol string) error {
	var nonce [16]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	key := base64.StdEncoding.EncodeToString(nonce[:])
	request := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{
		"Upgrade":                {"websocket"},
		"Connection":             {"Upgrade"},
		"Sec-WebSocket-Version":  {"13"},
		"Sec-WebSocket-Key":      {key},
		"Sec-WebSocket-Protocol": {protocol},
	}}
	ws.conn.SetDeadline(time.Now().Add(timeout))
	if err := request.Write(ws.conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(ws.reader, request)
	if err != nil {
		return err
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	if response.StatusCode != http.StatusSwitchingProtocols ||
		response.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) ||
		response.Header.Get("Sec-WebSocket-Protocol") != protocol {
		return fmt.Errorf("expected a WebSocket with the sub-protocol %s, got HTTP status %s", protocol, response.Status)
	}
	return nil
}

// read returns the next message. Meanwhile it answers pings. After a close frame, or after a frame that breaks
// the protocol, the error is a *closeError.
func (ws *webSocket) read() ([]byte, error) {
	var message []byte
	expected := byte(opText)
	for {
		isLast, opcode, payload, err := ws.readFrame(maxMessageBytes - len(message))
		switch {
		case err != nil:
			return nil, err
		case opcode == opPing:
			ws.write(opPong, payload)
		case opcode == opPong:
		case opcode == opClose && len(payload) < 2:
			return nil, ws.close(1000, "without a code")
		case opcode == opClose:
			return nil, ws.close(int(binary.BigEndian.Uint16(payload)), string(payload[2:]))
		case opcode == opBinary:
			return nil, ws.close(1003, "expected a text frame")
		case opcode != expected:
			return nil, ws.close(1002, "unexpected opcode")
		default:
			message, expected = append(message, payload...), opContinuation
			if isLast && !utf8.Valid(message) {
				return nil, ws.close(1007, "expected UTF-8")
			}
			if isLast {
				return message, nil
			}
		}
	}
}

// readFrame returns the next frame, of at most limit bytes.
func (ws *webSocket) readFrame(limit int) (isLast bool, opcode byte, payload []byte, err error) {
	ws.conn.SetReadDeadline(time.Now().Add(silence))
	if _, err = ws.reader.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
		ws.write(opPing, nil)
		ws.conn.SetReadDeadline(time.Now().Add(silence))
	}
	var head [10]byte
	if _, err = io.ReadFull(ws.reader, head[:2]); err != nil {
		return
	}
	isLast, opcode = head[0]&0x80 != 0, head[0]&0x0f
	length := uint64(head[1])
	switch {
	case head[0]&0x70 != 0 || length > 127: // reserved bits, or a mask
		err = ws.close(1002, "unexpected bits in a frame")
	case opcode >= opClose && (!isLast || length > 125):
		err = ws.close(1002, "control frame is fragmented or too long")
	case length == 126:
		_, err = io.ReadFull(ws.reader, head[2:4])
		length = uint64(binary.BigEndian.Uint16(head[2:]))
	case length == 127:
		_, err = io.ReadFull(ws.reader, head[2:])
		length = binary.BigEndian.Uint64(head[2:])
	}
	if err == nil && length > uint64(limit) {
		err = ws.close(1009, "message is too long")
	}
	if err == nil {
		payload = make([]byte, length)
		_, err = io.ReadFull(ws.reader, payload)
	}
	return
}

// write sends a frame. It reports no error, since read does so, after the close frame of the server if there is one.
func (ws *webSocket) write(opcode byte, payload []byte) {
	frame := append(make([]byte, 0, len(payload)+14), 0x80|opcode)
	switch length := len(payload); {
	case length < 126:
		frame = append(frame, 0x80|byte(length))
	case length < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(length))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(length))
	}
	var mask [4]byte
	_, err := rand.Read(mask[:])
	frame = append(frame, mask[:]...)
	for i, b := range payload {
		frame = append(frame, b^mask[i%4])
	}
	ws.conn.SetWriteDeadline(time.Now().Add(timeout))
	if err == nil {
		_, err = ws.conn.Write(frame)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		ws.conn.Close()
	}
}

// close sends a close frame, and returns its contents as an error. The server then closes the connection.
func (ws *webSocket) close(code int, reason string) error {
	ws.write(opClose, binary.BigEndian.AppendUint16(nil, uint16(code)))
	return &closeError{code, reason}
}
