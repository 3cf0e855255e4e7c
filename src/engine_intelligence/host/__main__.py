"""`python -m engine_intelligence.host`: the process that `spawn_host` starts."""

from engine_intelligence.host.process import main

if __name__ == "__main__":
    main()
