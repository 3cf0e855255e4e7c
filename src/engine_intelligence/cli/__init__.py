"""The command line `engine-intelligence`: a scene to play, a chat, the models, and a doctor."""
