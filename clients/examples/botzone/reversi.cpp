// Botzone bot for Reversi with simplified interaction: takes corners, else minimizes the opponent's moves.
//
//     g++ -O2 -o reversi reversi.cpp
//     ludex match reversi --seat 'botzone cmd=./reversi io=simple' --seat random
//
// Input: the number of the turn, then alternating requests and responses, each as a line "x y". -1 -1 is a pass; as the
// first request, it means that this bot moves first.
#include <array>
#include <iostream>
#include <vector>

struct Point {
    int x, y;
};

// 0 empty, 1 black, -1 white; board[x][y].
using Board = std::array<std::array<int, 8>, 8>;

// Plays a stone of `side` and returns the number of flipped stones; 0 if the move is illegal.
static int play(Board &board, Point at, int side) {
    if (board[at.x][at.y] != 0) return 0;
    auto inside = [](int x, int y) { return x >= 0 && x < 8 && y >= 0 && y < 8; };
    int turned = 0;
    for (int dx = -1; dx <= 1; dx++)
        for (int dy = -1; dy <= 1; dy++) {
            if (dx == 0 && dy == 0) continue;
            int x = at.x + dx, y = at.y + dy, run = 0;
            while (inside(x, y) && board[x][y] == -side) x += dx, y += dy, run++;
            if (run == 0 || !inside(x, y) || board[x][y] != side) continue;
            for (int k = 1; k <= run; k++) board[at.x + k * dx][at.y + k * dy] = side;
            turned += run;
        }
    if (turned > 0) board[at.x][at.y] = side;
    return turned;
}

static std::vector<Point> moves(const Board &board, int side) {
    std::vector<Point> all;
    for (int x = 0; x < 8; x++)
        for (int y = 0; y < 8; y++) {
            Board copy = board;
            if (play(copy, {x, y}, side) > 0) all.push_back({x, y});
        }
    return all;
}

int main() {
    Board board{};
    board[3][4] = board[4][3] = 1;
    board[3][3] = board[4][4] = -1;
    int turns, side = 0;
    std::cin >> turns;
    // Requests are the opponent's moves, responses the bot's. If the first request is a move, the bot is white.
    for (int k = 0; k < 2 * turns - 1; k++) {
        Point at;
        std::cin >> at.x >> at.y;
        if (k == 0) side = at.x < 0 ? 1 : -1;
        if (at.x >= 0) play(board, at, k % 2 == 0 ? -side : side);
    }
    Point best{-1, -1};
    int most = -1000;
    for (Point at : moves(board, side)) {
        Board after = board;
        play(after, at, side);
        bool corner = at.x % 7 == 0 && at.y % 7 == 0;
        int value = (corner ? 100 : 0) - int(moves(after, -side).size());
        if (value > most) most = value, best = at;
    }
    std::cout << best.x << ' ' << best.y << std::endl;
}
