"""Episodes for the training of language models.

An :class:`Episode` is one game of a model against agents of the server. It has the conversation as
messages, reads the answers of the model, and computes the reward. Adapters of training libraries
are built on it. A :class:`SelfPlayEpisode` has models on several seats. :class:`AsyncEpisode` and
:class:`AsyncSelfPlayEpisode` have the same methods as coroutines. :func:`seed_rows` splits seeds
for training and evaluation.

::

    with ludex.Client(url) as client, ludex.llm.Episode(client, "connect_four", seed=7) as episode:
        while not episode.over:
            episode.answer(generate(episode.messages))
        print(episode.reward, episode.metrics)
"""

from .async_episode import AsyncEpisode, AsyncSelfPlayEpisode
from .episode import Episode
from .reward import Reward
from .seeds import seed_rows
from .self_play import SelfPlayEpisode

__all__ = [
    "AsyncEpisode",
    "AsyncSelfPlayEpisode",
    "Episode",
    "Reward",
    "SelfPlayEpisode",
    "seed_rows",
]
