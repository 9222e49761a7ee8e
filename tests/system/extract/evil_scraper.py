"""A scraper that does what the page's body tells it to: for the children of the tests' pools."""

import ctypes
import json
import os
import signal
import socket
import time
from pathlib import Path

from hostile_attempts import attempts

from curtsy.model.outcome import Record, Reply


def evil_scraper(reply: Reply) -> Record:
    order, _, rest = reply.body.decode().partition(" ")
    match order:
        case "hang":
            while True:
                pass
        case "sleep":
            time.sleep(float(rest))
        case "span":
            began = time.monotonic()
            time.sleep(float(rest))
            return Record(f"{os.getpid()} {began} {time.monotonic()}".encode(), "text/plain", None)
        case "eat":
            hoard = [bytearray(10_000_000) for _ in range(int(rest))]
            return Record(str(len(hoard)).encode(), "text/plain", None)
        case "say":
            return Record(b"x" * int(rest), "text/plain", None)
        case "crash":
            ctypes.string_at(0)
        case "exit":
            os._exit(int(rest))
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise ValueError(rest)
        case "connect":
            host, _, port = rest.partition(":")
            socket.create_connection((host, int(port)), 1)
        case "connect-in-c":
            libc = ctypes.CDLL(None, use_errno=True)
            made = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
            return Record(f"{made} {ctypes.get_errno()}".encode(), "text/plain", None)
        case "connect-by-another-number":  # x86-64 has every call twice
            libc = ctypes.CDLL(None, use_errno=True)
            made = libc.syscall(0x40000000 | 41, socket.AF_INET, socket.SOCK_STREAM, 0)
            return Record(f"{made} {ctypes.get_errno()}".encode(), "text/plain", None)
        case "write":
            Path(rest).write_bytes(b"x" * 10)
        case "attempt":
            found = json.dumps({"at a page": attempts(json.loads(rest))})
            return Record(found.encode(), "application/json", None)
        case "recurse":
            return evil_scraper(reply)
    return Record(f"{os.getpid()} {order}".encode(), "text/plain", None)
