"""TLS with a custom certificate, and errors if one end does not speak TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ludex

TLS = Path(__file__).resolve().parents[3] / "tests" / "data" / "tls"


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    args = ["--tls-cert", str(TLS / "cert.pem"), "--tls-key", str(TLS / "key.pem")]
    with ludex.serve(args=args) as server:
        assert server.url.startswith("wss://")
        yield server.url.replace("127.0.0.1", "localhost")


def test_custom_certificate_is_trusted(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "cert.pem"))
    with ludex.Client(url) as client:
        assert client.open("nim").reset().legal


def test_untrusted_certificate_raises_tls_at_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(ludex.LudexError, match="SSL_CERT_FILE") as caught:
        ludex.Client(url, patience=3600)
    assert caught.value.code == "tls"


def test_wrong_scheme_raises_at_once(url: str) -> None:
    with pytest.raises(ludex.LudexError, match="use wss:// instead of ws://"):
        ludex.Client(url.replace("wss://", "ws://"), patience=3600)
    with ludex.serve() as plain, pytest.raises(ludex.LudexError, match="use ws:// instead"):
        ludex.Client(plain.url.replace("ws://", "wss://"), patience=3600)
