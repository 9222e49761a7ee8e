"""What happened, counted by minute, hour and day: in all, and by source."""
