LUDEX_URL='{url}' \
LUDEX_TOKEN='{token}' \
LUDEX_AGENT='{owner}' \
LUDEX_GAME=tic_tac_toe \
LUDEX_AGAINST=random \
java clients/examples/java/Bot.java
