// A bot that plays random legal moves, written from docs/protocol.md without a client library.
//
//     g++ -std=c++17 -O1 -o bot bot.cpp -pthread && ./bot [URL]
//
// It plays one match, or a whole suite if LUDEX_SUITE is set. It uses JSON and resumes after a lost connection.
// It may have several seats of a match; each seat has its own turns and message numbers.
// Environment: LUDEX_URL, LUDEX_TOKEN, LUDEX_AGENT (its name), LUDEX_GAME, LUDEX_SUITE, LUDEX_RUN.

#define ASIO_STANDALONE
#include <nlohmann/json.hpp>
#include <websocketpp/client.hpp>
#include <websocketpp/config/asio_no_tls_client.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

using Json = nlohmann::json;
using Socket = websocketpp::client<websocketpp::config::asio_client>;
using Key = std::pair<int, int>; // turn and try; the server accepts one act of a seat per key, and the bot sends one
using SeatKey = std::pair<std::string, int>; // match and seat

std::string env(const char *name, const char *otherwise) {
    const char *value = std::getenv(name);
    return value ? value : otherwise;
}

/// Chooses a move; replace it to make a better player. `turn` is the protocol's message with `view`, `names` and `legal`.
int choose(const Json &turn) {
    static std::mt19937 random{std::random_device{}()};
    const Json &legal = turn["legal"];
    const Json &pick = legal[random() % legal.size()];
    if (pick.is_number()) return pick;
    // Games with thousands of ids send inclusive ranges.
    int low = pick[0], high = pick[1];
    return low + int(random() % (high - low + 1));
}

/// Plays one match.
class Bot {
public:
    explicit Bot(std::string url) : url(std::move(url)) {}
    virtual ~Bot() = default;

    /// Connects, reconnects as needed, and returns when all matches are finished.
    void play() {
        auto lost = std::chrono::steady_clock::now();
        while (!done) {
            connected = false;
            int code = connection();
            if (done) return;
            if (code == 4000 || code == 4001 || code == 4002) throw std::runtime_error("closed with " + std::to_string(code));
            if (code == 4005) session = nullptr;
            auto now = std::chrono::steady_clock::now();
            if (connected) lost = now;
            if (now - lost > std::chrono::minutes(1)) throw std::runtime_error("no response from " + url);
            std::this_thread::sleep_for(std::chrono::milliseconds(code == 4004 ? 2000 : 100));
        }
    }

protected:
    /// Joins or enrolls, after every welcome.
    virtual void enter() {
        if (entering == 0 && !joined) entering = request("join", {{"game", env("LUDEX_GAME", "tic_tac_toe")}, {"against", {"random"}}});
    }
    /// Handles a message that does not belong to a match.
    virtual void onLobby(const Json &) {}
    virtual void onMatchEnd() { quit(); }

    int request(const char *type, Json fields) {
        int id = nextId++;
        fields["type"] = type;
        fields["id"] = id;
        unanswered[id] = fields;
        send(fields);
        return id;
    }
    void quit() {
        done = true;
        websocketpp::lib::error_code ignored;
        socket->close(line, websocketpp::close::status::normal, "", ignored);
    }

    int entering = 0; // id of the pending join

private:
    struct Seat {
        Json turn;            // last turn message
        Key acted = {-1, 0};  // key of the last act
    };
    struct Act {
        SeatKey seat;
        Key key;
    };

    // ---- connections

    /// Runs one connection, from hello to its end. Returns its close code.
    int connection() {
        socket = std::make_unique<Socket>();
        socket->clear_access_channels(websocketpp::log::alevel::all);
        socket->clear_error_channels(websocketpp::log::elevel::all);
        socket->init_asio();
        socket->set_close_handshake_timeout(500);
        socket->set_open_handler([this](auto opened) { line = opened, hello(); });
        socket->set_message_handler([this](auto, auto frame) { receive(Json::parse(frame->get_payload())); });
        websocketpp::lib::error_code error;
        auto connection = socket->get_connection(url, error);
        if (error) throw std::runtime_error(url + ": " + error.message());
        connection->add_subprotocol("ludex.v1.json");
        socket->connect(connection);
        socket->run();
        return connection->get_remote_close_code();
    }

    void send(const Json &message) {
        websocketpp::lib::error_code ignored; // a lost connection is detected by its end
        socket->send(line, message.dump(), websocketpp::frame::opcode::text, ignored);
    }

    void hello() {
        Json hello = {{"type", "hello"}, {"id", 1}, {"protocol", {1}}, {"client", "example-cpp/1"}};
        hello["agent"] = {{"name", env("LUDEX_AGENT", "cpp-bot")}, {"kind", "bot"}};
        if (std::getenv("LUDEX_TOKEN")) hello["token"] = env("LUDEX_TOKEN", "");
        if (!session.is_null()) {
            hello["resume"] = session;
            hello["resume"]["seen"] = seenFrames();
            hello["reclaim"] = true; // if the session no longer exists, the name reclaims the seats
        }
        send(hello);
    }

    /// Returns the last seq of each match, or those of its seats if there are several.
    Json seenFrames() const {
        Json frames = Json::object();
        for (const auto &[seat, seq] : seen) frames[seat.first][std::to_string(seat.second)] = seq;
        for (Json &frame : frames) if (frame.size() == 1) frame = Json(*frame.begin());
        return frames;
    }

    void welcome(const Json &message) {
        connected = true;
        session = {{"session", message["session"]}, {"key", message["key"]}};
        if (!message.value("resumed", false)) {
            // Requests of the old session are void, except acts, which are identified by their key.
            for (auto it = unanswered.begin(); it != unanswered.end();) it = acts.count(it->first) ? ++it : unanswered.erase(it);
            entering = 0;
            for (const Json &resumed : message["matches"]) seats[{resumed["match"], resumed["seat"]}];
            joined = !seats.empty() || (message.contains("joins") && !message["joins"].empty());
        }
        for (const auto &[id, pending] : unanswered) send(pending);
        enter();
    }

    // ---- messages

    void receive(const Json &message) {
        const std::string type = message["type"];
        if (type == "welcome") return welcome(message);
        if (message.contains("re")) return reply(message, message["re"]);
        if (type == "error" && !message.value("retry", false)) throw std::runtime_error(message["message"]);
        if (type == "ping") return send({{"type", "pong"}, {"nonce", message["nonce"]}});
        if (!message.contains("match")) return onLobby(message);
        // The `seat` of an event is that of the player, not of the viewer.
        const SeatKey seat = {message["match"], message.value(type == "event" ? "viewer" : "seat", 0)};
        if (ended.count(seat)) return;
        const int seq = message["seq"];
        const bool fresh = !seen.count(seat) || seq > seen[seat];
        if (fresh || type == "resync") seen[seat] = seq;
        if (type == "resync") {
            resync(seat, message);
        } else if (type == "turn") {
            // After a resume a turn may be sent again; its key tells if it has been answered.
            if (seats.count(seat)) act(seat, seats[seat].turn = message);
        } else if (fresh && type == "match_start") {
            seats[seat];
        } else if (fresh && type == "match_end") {
            finish(seat, message);
        }
    }

    /// Replaces the state of a seat. A pending act keeps its key.
    void resync(const SeatKey &seat, const Json &message) {
        Seat &known = seats[seat] = Seat{};
        if (message.contains("end")) return finish(seat, message["end"]);
        if (!message.contains("turn")) return;
        known.turn = message["turn"];
        for (const auto &[id, sent] : acts) if (sent.seat == seat && sent.key == keyOf(known.turn)) known.acted = sent.key;
        act(seat, known.turn);
    }

    static Key keyOf(const Json &turn) { return {turn["turn"], turn.value("try", 0)}; }

    void act(const SeatKey &seat, const Json &turn) {
        const Key key = keyOf(turn);
        if (key <= seats[seat].acted) return;
        seats[seat].acted = key;
        Json fields = {{"match", seat.first}, {"seat", seat.second}, {"turn", key.first}, {"try", key.second}};
        fields["action"] = choose(turn);
        acts[request("act", fields)] = {seat, key};
    }

    void reply(const Json &message, int id) {
        if (id == 1) throw std::runtime_error(message["message"]); // hello was refused
        const auto request = unanswered.find(id);
        if (request == unanswered.end()) return;
        unanswered.erase(request);
        const bool failed = message["type"] == "error";
        const bool later = failed && message.value("retry", false);
        if (id == entering) entering = 0, joined = !failed;
        const auto made = acts.find(id);
        if (made == acts.end()) {
            if (later) socket->set_timer(message.value("after_ms", 500), [this](auto error) { if (!error) enter(); });
            else if (failed) throw std::runtime_error(message["message"]);
            return;
        }
        const Act sent = made->second;
        acts.erase(made);
        if (!seats.count(sent.seat)) return;
        if (later) {
            // The act was not executed, so the turn gets a new one.
            seats[sent.seat].acted = {-1, 0};
            socket->set_timer(message.value("after_ms", 200), [=](auto error) {
                if (!error && seats.count(sent.seat)) act(sent.seat, seats[sent.seat].turn);
            });
        } else if (message["type"] == "refused" && message["tries_left"] > 0) {
            Json turn = seats[sent.seat].turn;
            if (keyOf(turn).first != sent.key.first) return;
            turn["try"] = message["try"];
            if (message.contains("legal")) turn["legal"] = message["legal"];
            act(sent.seat, seats[sent.seat].turn = turn);
        } else if (failed && (message["code"] == "unknown_match" || message["code"] == "not_your_seat")) {
            onSeatLost(sent.seat);
        }
        // Other errors: the act was late or repeated, which has no effect.
    }

    /// Handles a seat that no longer exists on the server.
    virtual void onSeatLost(const SeatKey &seat) { finish(seat, {{"reason", "gone"}}); }

    void finish(const SeatKey &seat, const Json &end) {
        if (seats.erase(seat) == 0) return;
        ended.insert(seat);
        seen.erase(seat);
        std::cout << seat.first << ": seat " << seat.second << ": " << end["reason"] << " "
                  << end.value("returns", Json::array()) << std::endl;
        // The match is over when all its seats have their end.
        for (const auto &[other, state] : seats) if (other.first == seat.first) return;
        onMatchEnd();
    }

    const std::string url;
    std::unique_ptr<Socket> socket;
    websocketpp::connection_hdl line;
    Json session;                    // session and key of the last welcome, for resuming
    std::map<SeatKey, int> seen;     // last seq
    int nextId = 2;                  // never reused, even on a new connection; hello uses 1
    std::map<int, Json> unanswered;  // id -> request as sent
    std::map<int, Act> acts;
    std::map<SeatKey, Seat> seats;
    std::set<SeatKey> ended;
    bool connected = false, joined = false, done = false;
};

// ---- additions for a suite

/// Plays a suite until the server sends `run_end`. The same program with the same names continues a run.
class SuiteBot : public Bot {
public:
    using Bot::Bot;

private:
    /// Enrolls after every welcome, since `run_end` may have been sent while disconnected.
    void enter() override {
        request("enrol", {{"suite", env("LUDEX_SUITE", "quick")}, {"run", env("LUDEX_RUN", "cpp")}, {"slots", 2}});
    }
    void onLobby(const Json &message) override {
        if (message["type"] == "progress") std::cout << message["done"] << " finished, " << message["due"] << " remaining" << std::endl;
        if (message["type"] != "run_end") return;
        std::cout << message["reason"] << " " << message["report"] << "\n" << message["verdict"].dump(2) << std::endl;
        quit();
    }
    void onMatchEnd() override {}
    void onSeatLost(const SeatKey &) override {}
};

// ---- end of the additions

int main(int count, char **words) {
    try {
        const std::string url = count > 1 ? words[1] : env("LUDEX_URL", "ws://127.0.0.1:7878");
        if (std::getenv("LUDEX_SUITE")) SuiteBot(url).play();
        else Bot(url).play();
    } catch (const std::exception &error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
