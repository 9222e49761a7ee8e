"""A nursery whose children know one scraper more."""

import socket
import sys

from curtsy import scrapers
from curtsy.extract import nursery

scrapers.PARSING["evil_scraper"] = "evil_scraper"

if __name__ == "__main__":
    nursery.run(socket.socket(fileno=int(sys.argv[1])))
