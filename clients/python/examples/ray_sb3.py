"""Train Stable-Baselines3's MaskablePPO on the servers of all nodes of a Ray cluster.

    pip install 'ludex[ray,sb3]'
    python ray_sb3.py                   # a local cluster, or that of RAY_ADDRESS
    python ray_sb3.py --listen node     # a cluster of several machines

If a node dies, the training continues on the others; if one joins, on all.
"""

from __future__ import annotations

import argparse

from sb3_contrib import MaskablePPO

import ludex.ray
from ludex.sb3 import LudexVecEnv

GAME = "connect_four"


def main() -> None:
    """Train in rounds, and follow the cluster between them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=16_384, help="steps of a round")
    parser.add_argument("--envs", type=int, default=128)
    parser.add_argument("--listen", choices=["loopback", "node"], default="loopback")
    args = parser.parse_args()
    with ludex.ray.Servers(listen=args.listen) as servers:
        urls, tokens = servers.urls, servers.tokens
        envs = LudexVecEnv(GAME, args.envs, seat="alternate", url=urls, token=tokens, patience=5)
        model = MaskablePPO("MlpPolicy", envs, n_steps=32, batch_size=512, seed=0)
        for number in range(args.rounds):
            try:
                model.learn(args.steps, reset_num_timesteps=False)
            except ludex.LudexError as error:
                if error.code not in ("connection_lost", "session_lost"):
                    raise
                print(f"round {number} ends early: {error}")
            if servers.refresh():
                envs.set_servers(servers.urls, servers.tokens)
            model.set_env(envs)  # resets the environments, which moves them
            print(f"{model.num_timesteps} steps on {len(servers.urls)} servers")
        envs.close()


if __name__ == "__main__":
    main()
