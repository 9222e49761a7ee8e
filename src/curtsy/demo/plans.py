"""A plan: what one target of one host is answered, the first times and then."""

from dataclasses import dataclass

from curtsy.demo.answers import Answer


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request arrived."""

    host: str
    port: int
    hosts: int


@dataclass(frozen=True, slots=True)
class Plan:
    """`refusal` the first `times`, then `answer`."""

    answer: Answer
    times: int = 0
    refusal: Answer | None = None

    def turn(self, earlier: int) -> Answer:
        """The answer to a request before which there were `earlier` ones."""
        if self.refusal is not None and earlier < self.times:
            return self.refusal
        return self.answer
