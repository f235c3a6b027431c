"""The circuit breaker, at times that the test chooses."""

from __future__ import annotations

from host.coordination.circuit import Circuit


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_on_a_failure_and_lets_one_probe_through() -> None:
    clock = Clock()
    circuit = Circuit(pause=1.0, clock=clock)
    assert [circuit.allows() for _ in range(3)] == [True, True, True]
    assert circuit.failed()
    assert not circuit.failed(), "it opens once"
    assert not circuit.allows()
    clock.now += 0.999
    assert not circuit.allows()
    clock.now += 0.002
    assert [circuit.allows() for _ in range(3)] == [True, False, False]
    circuit.failed()
    assert not circuit.allows()
    clock.now += 1.001
    assert circuit.allows()
    assert circuit.succeeded()
    assert not circuit.succeeded(), "it closes once"
    assert [circuit.allows() for _ in range(3)] == [True, True, True]


def test_a_probe_that_never_reports_lapses() -> None:
    clock = Clock()
    circuit = Circuit(pause=1.0, clock=clock)
    circuit.failed()
    clock.now += 1.1
    assert circuit.allows()
    assert not circuit.allows()
    clock.now += 1.1
    assert circuit.allows()
