"""Files that a Host refuses, each under the title that its message has in `docs/errors.md`."""

BAD_HOST_FILES = {
    "config-invalid: not TOML": '[providers.gatekeeper]\nkind "llama"\n',
    "config-invalid: a table": '[provider.gatekeeper]\nkind = "llama"\n',
    "config-invalid: a key": '[providers.gatekeeper]\nkind = "llama"\ninstuctions = "You guard a gate."\n',
    "config-invalid: a deadline": '[deadlines]\nfirst_text = 20\n[providers.gatekeeper]\nkind = "llama"\n',
    "config-invalid: neither": '[providers.gatekeeper]\ninstructions = "You guard a gate."\n',
    "config-invalid: no provider": "",
    "config-invalid: options of a factory": '[providers.parrot]\nfactory = "minds:parrot"\ntext = "hello"\n',
    "config-invalid: a type": '[providers.gatekeeper]\nkind = "llama"\nmax_tokens = "200"\n',
    "config-invalid: a range": '[providers.gatekeeper]\nkind = "llama"\ntemperature = 3.0\n',
    "config-invalid: two instructions": (
        '[providers.gatekeeper]\nkind = "llama"\ninstructions = "You guard a gate."\ninstructions_file = "aldric.md"\n'
    ),
    "key-in-configuration": '[providers.gatekeeper]\nkind = "llama"\napi_key = "sk-1234"\n',
    "key-in-configuration: as a name": '[providers.gatekeeper]\nkind = "llama"\nkey.env = "sk-1234"\n',
}
