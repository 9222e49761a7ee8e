"""What the schedules will do: a simulation by the rules that fire and pace them."""
