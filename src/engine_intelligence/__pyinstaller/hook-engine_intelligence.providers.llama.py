"""What the local model needs besides, in a frozen game whose build names `engine_intelligence.providers.llama`."""

hiddenimports = [
    "engine_intelligence.models.cache",
    "engine_intelligence.providers.llama_child",
    "openai",
    "platformdirs",
    "xllamacpp",
]
