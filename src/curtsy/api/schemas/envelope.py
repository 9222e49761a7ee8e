"""The envelope of the runs door: its document wraps every answer in one."""

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

T = TypeVar("T")


class Envelope(BaseModel, Generic[T]):
    """What succeeded. What did not is a problem document, without an envelope."""

    status: Literal["success"] = "success"
    data: T
