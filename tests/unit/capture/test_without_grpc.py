"""Without gRPC, which some Pythons have no wheels of, everything but captures works, and a capture names it."""

import ipaddress
import sys
from pathlib import Path

import pytest

from tpu_profile_plugin.capture.addresses import Address
from tpu_profile_plugin.capture.client import open_channel
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import MissingPackage

DEMO = Path(__file__).parents[3] / "demo"


@pytest.fixture(autouse=True)
def no_grpc(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)  # its import raises ImportError


def test_a_capture_says_what_to_install():
    with pytest.raises(MissingPackage, match="pip install grpcio"):
        open_channel(Address("127.0.0.1", 1), ipaddress.ip_address("127.0.0.1"))


def test_profiles_are_explained(capsys):
    assert main(["explain", str(DEMO / "train_slow_input")]) == 0
    assert "train_images.py:36 decode" in capsys.readouterr().out
