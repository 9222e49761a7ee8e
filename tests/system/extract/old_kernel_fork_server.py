"""The tests' fork server on a kernel without Landlock."""

import socket
import sys

from curtsy.extract import landlock
from curtsy.extract.readable_paths import split_arguments

landlock.landlock_version = lambda: 0

if __name__ == "__main__":
    from curtsy.extract import fork_server

    own, data = split_arguments(sys.argv[3:])
    fork_server.run(socket.socket(fileno=int(sys.argv[1])), own, data)
