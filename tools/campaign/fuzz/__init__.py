"""Coverage-guided fuzzing: what is fuzzed, what has to hold for every input, and how it is run."""
