"""The Host side: what runs beside the game and owns providers, keys and subprocesses."""
