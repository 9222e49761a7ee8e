"""A plan: the responses to one target of one host, the first times and afterwards."""

from dataclasses import dataclass

from curtsy.demo.answers import Answer


@dataclass(frozen=True, slots=True)
class Place:
    """The host and port that a request reached, and the number of hosts."""

    host: str
    port: int
    hosts: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Responds with `refusal` the first `times`, then with `answer`."""

    answer: Answer
    times: int = 0
    refusal: Answer | None = None

    def turn(self, earlier: int) -> Answer:
        """The response to a request after `earlier` others."""
        if self.refusal is not None and earlier < self.times:
            return self.refusal
        return self.answer
