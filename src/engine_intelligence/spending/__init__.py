"""What providers may spend: budgets, the ledger that they are counted in, and the switch that stops all of it."""
