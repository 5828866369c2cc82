g++ -std=c++17 -O1 -pthread -o bot clients/examples/cpp/bot.cpp
LUDEX_URL='{url}' \
LUDEX_TOKEN='{token}' \
LUDEX_AGENT='{owner}' \
LUDEX_GAME=tic_tac_toe \
LUDEX_AGAINST=random \
./bot
