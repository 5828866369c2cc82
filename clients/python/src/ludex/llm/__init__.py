"""Episodes for the training of language models.

An :class:`Episode` is one game of a model against agents of the server. It has the conversation as
messages, reads the answers of the model, and computes the reward. Adapters of training libraries
are built on it. :class:`AsyncEpisode` has the same methods as coroutines.

::

    with ludex.Client(url) as client, ludex.llm.Episode(client, "connect_four", seed=7) as episode:
        while not episode.over:
            episode.answer(generate(episode.messages))
        print(episode.reward, episode.metrics)
"""

from .async_episode import AsyncEpisode
from .episode import Episode
from .reward import Reward

__all__ = ["AsyncEpisode", "Episode", "Reward"]
