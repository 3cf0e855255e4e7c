"""A program that answers: one JSON object on its standard input, text on its standard output. It knows nothing of a game."""

import json
import sys

prompt = json.load(sys.stdin)
turns = len(prompt["history"])
print("Welcome." if turns == 0 else f"You have spoken to me {turns} times.", end=" ", flush=True)
print("The sword is sharp." if "sword" in prompt["input"] else "Ask me about the sword.")
