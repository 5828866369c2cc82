// A bot that plays random legal moves, written from docs/protocol.md without a client library.
//
//     java Bot.java [URL]                                    (JDK 17 or newer, no dependencies)
//
// It uses MessagePack, resumes after a lost connection, and exits when its matches are finished.
// It may have several seats of a match; each seat has its own turns and message numbers.
// Environment: LUDEX_URL, LUDEX_TOKEN, LUDEX_AGENT (its name), LUDEX_GAME, LUDEX_GAMES [1],
// LUDEX_AGAINST (an agent of the server, or "queue" for other clients in the queue).

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import javax.net.SocketFactory;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

public class Bot {
    static final long PATIENCE_MS = 60_000;

    /** The end of a connection with its close code, 0 if there was none. */
    @SuppressWarnings("serial")
    static class Lost extends Exception {
        final int code;

        Lost(int code, String reason) {
            super(reason);
            this.code = code;
        }
    }

    /** An unrecoverable error. */
    @SuppressWarnings("serial")
    static class Fatal extends RuntimeException {
        Fatal(String reason) {
            super(reason);
        }
    }

    /** Turn and try. The server accepts one act of a seat per key, and the bot sends one. */
    record Key(long turn, long attempt) {
        boolean after(Key other) {
            return turn > other.turn || turn == other.turn && attempt > other.attempt;
        }
    }

    record Seat(String match, long seat) {}

    record Act(Seat seat, Key key, long action) {}

    static class SeatState {
        Map<String, Object> turn; // last turn message
        Key acted = new Key(-1, 0); // key of the last act
    }

    final URI url;
    final int games = Integer.parseInt(env("LUDEX_GAMES", "1"));
    final Random random = new Random();
    Line line;
    String session; // session and key of the last welcome, for resuming
    String key;
    long nextId = 2; // never reused, even on a new connection; hello uses 1
    long joining = 0; // id of the pending join
    boolean joined = false;
    boolean isDraining = false; // the server shuts down: only finish the current matches
    final Map<Long, byte[]> unanswered = new LinkedHashMap<>();
    final Map<Long, Act> acts = new HashMap<>();
    final Map<Seat, SeatState> seats = new LinkedHashMap<>();
    final Set<Seat> ended = new HashSet<>();
    final Map<Seat, Long> seen = new HashMap<>(); // last seq

    Bot(String url) {
        this.url = URI.create(url);
    }

    public static void main(String[] args) {
        String url = args.length > 0 ? args[0] : env("LUDEX_URL", "ws://127.0.0.1:7878");
        try {
            new Bot(url).run();
        } catch (Fatal | InterruptedException error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
        System.exit(0);
    }

    static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    void run() throws InterruptedException {
        connect();
        while (finished() < games && !(isDraining && seats.isEmpty())) {
            try {
                enter();
                handle(line.receive());
            } catch (Lost lost) {
                if (lost.code >= 4000 && lost.code <= 4002) throw new Fatal("closed: " + lost.getMessage());
                line.close();
                if (lost.code == 4005) session = null;
                if (lost.code == 4004) Thread.sleep(2_000);
                connect();
            }
        }
        line.close();
    }

    // ---- connections

    void connect() throws InterruptedException {
        for (long end = System.currentTimeMillis() + PATIENCE_MS; ; ) {
            try {
                line = new Line(url);
                hello();
                return;
            } catch (Lost lost) {
                if (line != null) line.close();
                if (lost.code >= 4000 && lost.code <= 4002) throw new Fatal("closed: " + lost.getMessage());
                if (System.currentTimeMillis() > end) throw new Fatal("no response from " + url);
                Thread.sleep(100);
            }
        }
    }

    void hello() throws Lost {
        Map<String, Object> hello = map("type", "hello", "id", 1, "protocol", List.of(1));
        hello.put("client", "example-java/1");
        hello.put("agent", map("name", env("LUDEX_AGENT", "java-bot"), "kind", "bot"));
        if (!env("LUDEX_TOKEN", "").isEmpty()) hello.put("token", env("LUDEX_TOKEN", ""));
        if (session != null) {
            hello.put("resume", map("session", session, "key", key, "seen", seenFrames()));
            hello.put("reclaim", true); // if the session no longer exists, the name reclaims the seats
        }
        line.send(pack(hello));
        Map<String, Object> message = line.receive();
        while (!"welcome".equals(message.get("type"))) {
            if ("error".equals(message.get("type"))) {
                if (!flag(message, "retry")) throw new Fatal(reason(message));
                throw new Lost(0, reason(message));
            }
            message = line.receive();
        }
        line.removeTimeout();
        session = text(message, "session");
        key = text(message, "key");
        if (!flag(message, "resumed")) startSession(message);
        for (byte[] request : new ArrayList<>(unanswered.values())) line.send(request);
    }

    /** Returns the last seq of each match, or those of its seats if there are several. */
    Map<String, Object> seenFrames() {
        Map<String, Object> frames = new HashMap<>();
        for (Map.Entry<Seat, Long> entry : seen.entrySet()) {
            Map<String, Object> seats = map(frames.get(entry.getKey().match));
            seats.put("" + entry.getKey().seat, entry.getValue());
            frames.put(entry.getKey().match, seats);
        }
        frames.replaceAll((match, seats) -> map(seats).size() > 1 ? seats : map(seats).values().iterator().next());
        return frames;
    }

    /** Starts a new session: requests of the old one are void, except acts, which are identified by their key. */
    void startSession(Map<String, Object> welcome) {
        unanswered.keySet().removeIf(id -> !acts.containsKey(id));
        joining = 0;
        Set<Seat> resumed = new HashSet<>();
        for (Object entry : list(welcome, "matches")) resumed.add(seatOf(map(entry), "seat"));
        for (Seat seat : new ArrayList<>(seats.keySet())) {
            if (!resumed.contains(seat)) finish(seat, map("reason", "lost"));
        }
        for (Seat seat : resumed) {
            if (!ended.contains(seat)) seats.putIfAbsent(seat, new SeatState());
        }
        long left = 0;
        for (Object entry : list(welcome, "joins")) left += number(map(entry), "left", 0);
        joined = taken() + left >= games;
    }

    /** Returns the number of matches that have ended or are running. */
    int taken() {
        Set<String> matches = matches(ended);
        matches.addAll(matches(seats.keySet()));
        return matches.size();
    }

    /** Returns the number of matches of which all seats have ended. */
    int finished() {
        Set<String> matches = matches(ended);
        matches.removeAll(matches(seats.keySet()));
        return matches.size();
    }

    static Set<String> matches(Set<Seat> seats) {
        Set<String> matches = new HashSet<>();
        for (Seat seat : seats) matches.add(seat.match);
        return matches;
    }

    // ---- requests

    long request(Map<String, Object> message) throws Lost {
        long id = nextId++;
        message.put("id", id);
        unanswered.put(id, pack(message));
        line.send(unanswered.get(id));
        return id;
    }

    void enter() throws Lost {
        if (joined || joining != 0 || isDraining) return;
        int count = games - taken();
        Map<String, Object> join = map("type", "join", "count", count);
        join.put("game", env("LUDEX_GAME", "tic_tac_toe"));
        String against = env("LUDEX_AGAINST", "random");
        if (!against.equals("queue")) join.put("against", List.of(against));
        joining = nextId;
        request(join);
    }

    void answer(Seat seat, Map<String, Object> turn) throws Lost {
        SeatState state = seats.get(seat);
        Key now = keyOf(turn);
        List<Object> legal = list(turn, "legal");
        if (state == null || !now.after(state.acted) || legal.isEmpty()) return;
        state.acted = now;
        Object pick = legal.get(random.nextInt(legal.size()));
        if (pick instanceof List<?> range) { // games with thousands of ids send inclusive ranges
            long low = (Long) range.get(0), high = (Long) range.get(1);
            pick = low + random.nextInt((int) (high - low + 1));
        }
        act(new Act(seat, now, (Long) pick));
    }

    void act(Act act) throws Lost {
        acts.put(nextId, act); // first, because sending may fail
        request(map("type", "act", "match", act.seat.match, "seat", act.seat.seat, "turn", act.key.turn,
                "try", act.key.attempt, "action", act.action));
    }

    // ---- messages

    void handle(Map<String, Object> message) throws Lost, InterruptedException {
        String type = text(message, "type");
        if (message.get("re") != null) {
            reply(type, message);
            return;
        }
        switch (type) {
            case "ping" -> line.send(pack(map("type", "pong", "nonce", message.get("nonce"))));
            case "draining" -> isDraining = Boolean.FALSE.equals(message.get("resume"));
            case "error" -> {
                if (!flag(message, "retry")) throw new Fatal(reason(message));
            }
            default -> { }
        }
        // The `seat` of an event is that of the player, not of the viewer.
        Seat seat = seatOf(message, type.equals("event") ? "viewer" : "seat");
        if (seat.match == null || ended.contains(seat)) return;
        if (type.equals("resync")) {
            resync(seat, message);
            return;
        }
        boolean fresh = number(message, "seq", 0) > seen.getOrDefault(seat, -1L);
        if (fresh) seen.put(seat, number(message, "seq", 0));
        if (type.equals("turn")) {
            // After a resume a turn may be sent again; its key tells if it has been answered.
            if (seats.containsKey(seat)) seats.get(seat).turn = message;
            answer(seat, message);
        } else if (fresh && type.equals("match_start")) {
            seats.put(seat, new SeatState());
        } else if (fresh && type.equals("match_end")) {
            finish(seat, message);
        }
    }

    /** Replaces the state of the seat. A pending act keeps its key. */
    void resync(Seat seat, Map<String, Object> message) throws Lost {
        seen.put(seat, number(message, "seq", 0));
        SeatState state = new SeatState();
        seats.put(seat, state);
        if (message.get("end") != null) {
            finish(seat, map(message.get("end")));
        } else if (message.get("turn") != null) {
            state.turn = map(message.get("turn"));
            for (Act act : acts.values()) {
                if (act.seat.equals(seat) && act.key.equals(keyOf(state.turn))) state.acted = act.key;
            }
            answer(seat, state.turn);
        }
    }

    void reply(String type, Map<String, Object> message) throws Lost, InterruptedException {
        long id = number(message, "re", 0);
        if (unanswered.remove(id) == null) return;
        Act act = acts.remove(id);
        boolean error = type.equals("error");
        if (id == joining) {
            joining = 0;
            joined = !error;
            if (error && !flag(message, "retry")) throw new Fatal(reason(message));
            if (error) Thread.sleep(number(message, "after_ms", 200));
        } else if (act != null && type.equals("refused")) {
            SeatState state = seats.get(act.seat);
            boolean current = state != null && state.turn != null
                    && number(state.turn, "turn", -1) == number(message, "turn", -2);
            if (current && number(message, "tries_left", 0) > 0) {
                Map<String, Object> again = new HashMap<>(state.turn);
                again.put("try", message.get("try"));
                if (message.get("legal") != null) again.put("legal", message.get("legal"));
                answer(act.seat, again);
            }
        } else if (act != null && error) {
            switch (text(message, "code")) {
                // The act was late or repeated, which has no effect.
                case "stale_turn", "conflict", "not_your_turn", "match_over" -> { }
                case "unknown_match", "not_your_seat" -> finish(act.seat, map("reason", message.get("code")));
                default -> {
                    if (!flag(message, "retry")) throw new Fatal(reason(message));
                    Thread.sleep(number(message, "after_ms", 200));
                    act(act);
                }
            }
        }
    }

    void finish(Seat seat, Map<String, Object> end) {
        if (seats.remove(seat) == null) return;
        ended.add(seat);
        seen.remove(seat);
        System.out.println(seat.match + ": seat " + seat.seat + ": " + end.get("reason") + " " + list(end, "returns"));
    }

    static Seat seatOf(Map<String, Object> message, String field) {
        return new Seat(text(message, "match"), number(message, field, 0));
    }

    static Key keyOf(Map<String, Object> turn) {
        return new Key(number(turn, "turn", 0), number(turn, "try", 0));
    }

    static String reason(Map<String, Object> error) {
        return error.get("code") + ": " + error.get("message");
    }

    // ---- maps

    static Map<String, Object> map(Object... entries) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < entries.length; i += 2) map.put((String) entries[i], entries[i + 1]);
        return map;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object value) {
        return value instanceof Map<?, ?> ? (Map<String, Object>) value : new HashMap<>();
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Map<String, Object> map, String name) {
        return map.get(name) instanceof List<?> list ? (List<Object>) list : List.of();
    }

    static String text(Map<String, Object> map, String name) {
        return map.get(name) instanceof String text ? text : null;
    }

    static long number(Map<String, Object> map, String name, long otherwise) {
        return map.get(name) instanceof Number number ? number.longValue() : otherwise;
    }

    static boolean flag(Map<String, Object> map, String name) {
        return Boolean.TRUE.equals(map.get(name));
    }

    // ---- the WebSocket (RFC 6455)

    /**
     * One connection, read by the thread that plays. It replaces java.net.http.WebSocket, which in
     * JDK 17 may not report a connection that is cut right after a message.
     */
    static class Line {
        static final int BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;
        private final Socket socket;
        private final DataInputStream in;
        private final SecureRandom random = new SecureRandom();

        Line(URI url) throws Lost {
            try {
                boolean tls = "wss".equals(url.getScheme());
                int port = url.getPort() > 0 ? url.getPort() : tls ? 443 : 80;
                SocketFactory factory = tls ? SSLSocketFactory.getDefault() : SocketFactory.getDefault();
                socket = factory.createSocket(url.getHost(), port);
                if (socket instanceof SSLSocket secure) {
                    SSLParameters parameters = secure.getSSLParameters();
                    parameters.setEndpointIdentificationAlgorithm("HTTPS"); // verifies the host name
                    secure.setSSLParameters(parameters);
                }
                socket.setTcpNoDelay(true);
                socket.setKeepAlive(true);
                socket.setSoTimeout(10_000); // until the welcome
                in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
                upgrade(url);
            } catch (IOException error) {
                throw new Lost(0, String.valueOf(error));
            }
        }

        private void upgrade(URI url) throws IOException, Lost {
            byte[] nonce = new byte[16];
            random.nextBytes(nonce);
            String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
            String request = "GET " + path + " HTTP/1.1\r\nHost: " + url.getAuthority()
                    + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13"
                    + "\r\nSec-WebSocket-Protocol: ludex.v1.msgpack\r\nSec-WebSocket-Key: "
                    + Base64.getEncoder().encodeToString(nonce) + "\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            StringBuilder response = new StringBuilder();
            while (response.indexOf("\r\n\r\n") < 0) response.append((char) in.readUnsignedByte());
            if (!response.toString().startsWith("HTTP/1.1 101 ")) {
                throw new Lost(0, response.substring(0, response.indexOf("\r\n")));
            }
        }

        /** Removes the read timeout, after the welcome. */
        void removeTimeout() throws Lost {
            try {
                socket.setSoTimeout(0);
            } catch (IOException error) {
                throw new Lost(0, String.valueOf(error));
            }
        }

        void send(byte[] message) throws Lost {
            send(BINARY, message);
        }

        private void send(int opcode, byte[] payload) throws Lost {
            byte[] mask = new byte[4];
            random.nextBytes(mask);
            ByteBuffer frame = ByteBuffer.allocate(payload.length + 14);
            frame.put((byte) (0x80 | opcode));
            if (payload.length < 126) {
                frame.put((byte) (0x80 | payload.length));
            } else if (payload.length < 65536) {
                frame.put((byte) (0x80 | 126)).putShort((short) payload.length);
            } else {
                frame.put((byte) (0x80 | 127)).putLong(payload.length);
            }
            frame.put(mask);
            for (int i = 0; i < payload.length; i++) frame.put((byte) (payload[i] ^ mask[i % 4]));
            try {
                socket.getOutputStream().write(frame.array(), 0, frame.position());
            } catch (IOException error) {
                throw new Lost(0, String.valueOf(error));
            }
        }

        /** Waits for the next message. */
        Map<String, Object> receive() throws Lost {
            ByteArrayOutputStream message = new ByteArrayOutputStream();
            try {
                while (true) {
                    int head = in.readUnsignedByte();
                    long length = in.readUnsignedByte(); // frames of a server are not masked
                    if (length == 126) length = in.readUnsignedShort();
                    if (length == 127) length = in.readLong();
                    byte[] payload = in.readNBytes(Math.toIntExact(length));
                    if (payload.length < length) throw new EOFException();
                    switch (head & 0x0f) {
                        case PING -> send(PONG, payload);
                        case PONG -> { }
                        case CLOSE -> throw closed(payload);
                        default -> {
                            message.writeBytes(payload);
                            if ((head & 0x80) != 0) return map(unpack(ByteBuffer.wrap(message.toByteArray())));
                        }
                    }
                }
            } catch (IOException error) {
                throw new Lost(0, String.valueOf(error));
            }
        }

        private Lost closed(byte[] payload) {
            int code = payload.length < 2 ? 1005 : ByteBuffer.wrap(payload).getShort() & 0xffff;
            int from = Math.min(2, payload.length);
            return new Lost(code, code + " " + new String(payload, from, payload.length - from, StandardCharsets.UTF_8));
        }

        /** Sends a close frame if the connection is open, and frees the socket. */
        void close() {
            try (socket) {
                send(CLOSE, new byte[] {0x03, (byte) 0xe8}); // 1000
            } catch (IOException | Lost error) {
                return;
            }
        }
    }

    // ---- MessagePack

    static byte[] pack(Object value) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        pack(out, value);
        return out.toByteArray();
    }

    static void pack(ByteArrayOutputStream out, Object value) {
        if (value == null) {
            out.write(0xc0);
        } else if (value instanceof Boolean flag) {
            out.write(flag ? 0xc3 : 0xc2);
        } else if (value instanceof Number number) {
            out.write(0xd3);
            out.writeBytes(ByteBuffer.allocate(8).putLong(number.longValue()).array());
        } else if (value instanceof String text) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            out.write(0xdb);
            size(out, bytes.length);
            out.writeBytes(bytes);
        } else if (value instanceof Collection<?> list) {
            out.write(0xdd);
            size(out, list.size());
            for (Object entry : list) pack(out, entry);
        } else if (value instanceof Map<?, ?> map) {
            out.write(0xdf);
            size(out, map.size());
            map.forEach((name, entry) -> {
                pack(out, name);
                pack(out, entry);
            });
        } else {
            throw new IllegalArgumentException("expected a MessagePack value, got " + value.getClass());
        }
    }

    static void size(ByteArrayOutputStream out, int size) {
        out.writeBytes(ByteBuffer.allocate(4).putInt(size).array());
    }

    static Object unpack(ByteBuffer in) {
        int tag = in.get() & 0xff;
        if (tag < 0x80) return (long) tag;
        if (tag < 0x90) return unpackMap(in, tag & 0x0f);
        if (tag < 0xa0) return unpackList(in, tag & 0x0f);
        if (tag < 0xc0) return new String(take(in, tag & 0x1f), StandardCharsets.UTF_8);
        if (tag >= 0xe0) return (long) (byte) tag;
        return switch (tag) {
            case 0xc0 -> null;
            case 0xc2 -> false;
            case 0xc3 -> true;
            case 0xc4 -> take(in, in.get() & 0xff);
            case 0xc5 -> take(in, in.getShort() & 0xffff);
            case 0xc6 -> take(in, in.getInt());
            case 0xca -> (double) in.getFloat();
            case 0xcb -> in.getDouble();
            case 0xcc -> (long) (in.get() & 0xff);
            case 0xcd -> (long) (in.getShort() & 0xffff);
            case 0xce -> in.getInt() & 0xffffffffL;
            case 0xcf, 0xd3 -> in.getLong();
            case 0xd0 -> (long) in.get();
            case 0xd1 -> (long) in.getShort();
            case 0xd2 -> (long) in.getInt();
            case 0xd9 -> new String(take(in, in.get() & 0xff), StandardCharsets.UTF_8);
            case 0xda -> new String(take(in, in.getShort() & 0xffff), StandardCharsets.UTF_8);
            case 0xdb -> new String(take(in, in.getInt()), StandardCharsets.UTF_8);
            case 0xdc -> unpackList(in, in.getShort() & 0xffff);
            case 0xdd -> unpackList(in, in.getInt());
            case 0xde -> unpackMap(in, in.getShort() & 0xffff);
            case 0xdf -> unpackMap(in, in.getInt());
            default -> throw new IllegalArgumentException("expected a MessagePack tag of the protocol, got " + tag);
        };
    }

    static byte[] take(ByteBuffer in, int count) {
        byte[] bytes = new byte[count];
        in.get(bytes);
        return bytes;
    }

    static List<Object> unpackList(ByteBuffer in, int count) {
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < count; i++) list.add(unpack(in));
        return list;
    }

    static Map<String, Object> unpackMap(ByteBuffer in, int count) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) map.put(String.valueOf(unpack(in)), unpack(in));
        return map;
    }
}
