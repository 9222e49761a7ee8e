"""A fork server whose children know one more scraper."""

import socket
import sys

from curtsy import scrapers
from curtsy.extract import fork_server

scrapers.PARSING["evil_scraper"] = "evil_scraper"

if __name__ == "__main__":
    fork_server.run(socket.socket(fileno=int(sys.argv[1])))
