"""The store of conversations that a Host keeps for providers that keep none themselves."""
