"""Policy files: their shapes, metadata and faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

import ludex
import ludex.onnx


class Linear(nn.Module):
    def __init__(self, inputs: int, actions: int, values: int = 1) -> None:
        super().__init__()
        self.policy, self.value = nn.Linear(inputs, actions), nn.Linear(inputs, values)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        flat = obs.flatten(1)
        return self.policy(flat), self.value(flat)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step, self.policy = nn.Linear(18 + 4, 4), nn.Linear(4, 9)

    def forward(self, obs: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state = torch.tanh(self.step(torch.cat([obs.flatten(1), state], dim=1)))
        return self.policy(state), state


def test_file_equals_module(url: str, tmp_path: Path) -> None:
    module, file = Linear(84, 7, 2), tmp_path / "net.onnx"
    ludex.onnx.export(module, file, "connect_four", url=url, license="CC0-1.0")
    ludex.onnx.check(file, "connect_four", url=url)
    obs = np.random.default_rng(0).random((5, 2, 6, 7), np.float32)
    session = onnxruntime.InferenceSession(file)
    policy, value = session.run(["policy", "value"], {"obs": obs})
    expected = module(torch.from_numpy(obs))
    assert np.allclose(policy, expected[0].detach(), atol=1e-5)
    assert np.allclose(value, expected[1].detach(), atol=1e-5)
    model = onnx.load(file, load_external_data=False)
    assert model.opset_import[0].version == 17
    assert [(i.name, i.type.tensor_type.shape.dim[0].dim_param) for i in model.graph.input] == [
        ("obs", "N")
    ]
    notes = {entry.key: entry.value for entry in model.metadata_props}
    assert notes["license"] == "CC0-1.0"
    assert notes["game"].startswith("connect_four(rows=6")
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"], "the file has all weights"


def test_recurrent_file_has_states(url: str, tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    options = {"heads": ["policy"], "state_shapes": [[4]]}
    ludex.onnx.export(Recurrent(), file, "tic_tac_toe", url=url, **options)
    ludex.onnx.check(file, "tic_tac_toe", url=url)
    session = onnxruntime.InferenceSession(file)
    assert [node.name for node in session.get_inputs()] == ["obs", "state_0"]
    assert [node.name for node in session.get_outputs()] == ["policy", "next_state_0"]


@pytest.mark.parametrize(
    ("module", "game", "fault"),
    [
        (Linear(18, 8), "tic_tac_toe", r"shape of policy: expected \[1, 9\], got \[1, 8\]"),
        (Linear(18, 9, 3), "tic_tac_toe", r"shape of value: expected \[1, 2\], got \[1, 3\]"),
        (Linear(18, 9), "connect_four", "game: expected connect_four"),
    ],
)
def test_check_names_fault(
    url: str, tmp_path: Path, module: nn.Module, game: str, fault: str
) -> None:
    file = tmp_path / "net.onnx"
    ludex.onnx.export(module, file, "tic_tac_toe", url=url)
    with pytest.raises(ValueError, match=fault):
        ludex.onnx.check(file, game, url=url)


def test_unknown_head_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected 'policy'"):
        ludex.onnx.export(Linear(18, 9), tmp_path / "x", "tic_tac_toe", heads=["value"], url=url)
