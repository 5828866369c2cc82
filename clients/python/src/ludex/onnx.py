"""Policy files: networks as ONNX files, which the agents ``net`` and ``puct`` of the program read.

::

    ludex.onnx.export(network, "connect_four.onnx", "connect_four")  # needs torch
    ludex.onnx.check("connect_four.onnx", "connect_four")  # needs onnxruntime

A module is called with observations ``float32 [N, *shape]``, where ``shape`` is that of the game's
observation array, and with its recurrent states; integers are passed as floats, without scaling.
It returns its heads, then the next states. docs/networks.md describes the format.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .optional_imports import import_optional
from .shared_server import connect
from .spec import Spec

OPSET = 17
HEADS = ("policy", "value")

View = Literal["tensor", "info"]


def export(
    module: Any,
    file: str | os.PathLike[str],
    game: str | Spec,
    *,
    heads: Sequence[str] = HEADS,
    view: View = "tensor",
    state_shapes: Sequence[Sequence[int]] = (),
    url: str | None = None,
    license: str | None = None,
) -> None:
    """Write a module of torch as a policy file; an existing file is replaced at once.

    Args:
        module: a ``torch.nn.Module``; it is exported in evaluation mode.
        file: path of the file.
        game: the game; for a game string, its spec comes from the server.
        heads: names of the outputs, ``"policy"`` first: logits ``[N, A]``; ``"value"``: ``[N]``,
            ``[N, 1]`` or ``[N, players]``.
        view: array that the module reads; ``"info"``: that of the perfect-recall information
            state, for agents with ``view=info``.
        state_shapes: shapes of the recurrent states, without the axis N.
        url: server URL; by default the local server of this process.
        license: license of the network, for the metadata.

    Raises:
        LudexError: ``bad_field``: the game has no such array; an error from the server:
            ``unknown_game``, ...
        ModuleNotFoundError: torch or onnx is not installed.
        ValueError: a head does not exist.
    """
    torch = import_optional("torch", "onnx")
    onnx = import_optional("onnx", "onnx")
    if "policy" not in heads or not set(heads) <= set(HEADS):
        raise ValueError(f"heads: expected 'policy', got {list(heads)}; allowed: {list(HEADS)}")
    spec = _spec(game, url)
    inputs = ["obs", *(f"state_{index}" for index in range(len(state_shapes)))]
    outputs = [*heads, *(f"next_state_{index}" for index in range(len(state_shapes)))]
    shapes = [spec.array(view)["s"], *state_shapes]
    written = io.BytesIO()
    with warnings.catch_warnings():
        # The exporter based on torch.export writes opset 18 or above.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            module,
            tuple(torch.zeros(2, *shape) for shape in shapes),
            written,
            input_names=inputs,
            output_names=outputs,
            dynamic_axes={name: {0: "N"} for name in (*inputs, *outputs)},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(written.getvalue())
    notes = {"game": spec.string} | ({"license": license} if license else {})
    onnx.helper.set_model_props(model, notes)
    temporary = f"{os.fspath(file)}.tmp"
    onnx.save_model(model, temporary)
    os.replace(temporary, file)


def check(
    file: str | os.PathLike[str],
    game: str | Spec,
    *,
    view: View = "tensor",
    url: str | None = None,
) -> None:
    """Run a policy file on batches of one and three observations and compare the shapes.

    Args:
        file: path of the file.
        game: the game; for a game string, its spec comes from the server.
        view: array that the network reads, as for :func:`export`.
        url: server URL; by default the local server of this process.

    Raises:
        LudexError: ``bad_field``: the game has no such array; an error from the server:
            ``unknown_game``, ...
        ModuleNotFoundError: onnxruntime is not installed.
        ValueError: the file is not a policy file of this game; the message names the difference.
    """
    runtime = import_optional("onnxruntime", "onnx")
    spec = _spec(game, url)
    session = runtime.InferenceSession(os.fspath(file), providers=["CPUExecutionProvider"])
    array = list(spec.array(view)["s"])
    made_for = session.get_modelmeta().custom_metadata_map.get("game", spec.string)
    _compare("game", made_for, spec.string)
    shapes = {node.name: list(node.shape) for node in session.get_inputs()}
    states = {name: shape[1:] for name, shape in shapes.items() if name != "obs"}
    _compare("inputs", sorted(shapes), sorted(["obs", *_numbered("state", len(states))]))
    _compare("shape of obs", shapes["obs"][1:], array)
    names = [node.name for node in session.get_outputs()]
    allowed = [*HEADS, *_numbered("next_state", len(states))]
    expected = [name for name in allowed if name != "value" or name in names]
    _compare("outputs", sorted(names), sorted(expected))
    for count in (1, 3):
        fed = {"obs": [count, *array]}
        fed |= {name: [count, *shape] for name, shape in states.items()}
        arrays = {name: np.zeros(shape, np.float32) for name, shape in fed.items()}
        found = dict(zip(names, session.run(names, arrays), strict=True))
        for name, output in found.items():
            _compare(f"type of {name}", str(output.dtype), "float32")
        _compare("shape of policy", list(found["policy"].shape), [count, spec.actions])
        if "value" in found:
            value = list(found["value"].shape)
            one = [[count], [count, 1], [count, spec.players]]
            _compare("shape of value", value, value if value in one else one[-1])
        for name in states:
            _compare(f"shape of next_{name}", list(found[f"next_{name}"].shape), fed[name])


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}_{index}" for index in range(count)]


def _compare(name: str, got: Any, expected: Any) -> None:
    if got != expected:
        raise ValueError(f"{name}: expected {expected}, got {got}")


def _spec(game: str | Spec, url: str | None) -> Spec:
    if isinstance(game, Spec):
        return game
    with connect(url) as client:
        return client.describe(game)
