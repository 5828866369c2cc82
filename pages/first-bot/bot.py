# In Ludex's repository: pip install -e clients/python
import ludex

results = ludex.play(
    "{url}",
    token="{token}",
    name="{owner}",
    game="tic_tac_toe",
    against="random",
    games=10,
    agent=lambda turn: turn.legal[0],
)
print([result.outcome for result in results])
