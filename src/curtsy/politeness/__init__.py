"""How fast, and what then: pure rules. Every function is told the time and the dice."""
