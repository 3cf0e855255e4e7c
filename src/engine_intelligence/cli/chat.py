"""`engine-intelligence chat`: the same loop, in a terminal, with whatever provider."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from engine_intelligence.cli.dialogue import Dialogue, Words
from engine_intelligence.cli.errors import EXIT_FAILED, plainly, say
from engine_intelligence.cli.lines import Interrupts, standard_input
from engine_intelligence.cli.loop import Loop
from engine_intelligence.cli.options import (
    Character,
    HostFile,
    Instructions,
    MaxTokens,
    Model,
    Option,
    Provider,
    Seed,
    Temperature,
    given,
)
from engine_intelligence.cli.saves import SaveFile
from engine_intelligence.cli.speaker import choose_speaker, parse_options, prepare, start_host
from engine_intelligence.cli.terminal import TerminalFace


def chat(
    provider: Provider = "llama",
    model: Model = None,
    instructions: Instructions = None,
    seed: Seed = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    option: Option = None,
    host_file: HostFile = None,
    character: Character = None,
    session: Annotated[
        Path | None,
        typer.Option(
            help="A file that keeps the conversation: continued if it is there, written either way."
        ),
    ] = None,
) -> None:
    """Talk in the terminal. Ctrl-C interrupts an answer, and quits when there is none; so does the end of input.

    The exit code is 1 if the last answer failed.
    """
    with plainly():
        speaker = choose_speaker(
            provider,
            host_file=host_file,
            character=character,
            options=given(
                model=model,
                instructions=instructions,
                seed=seed,
                temperature=temperature,
                max_tokens=max_tokens,
            )
            | parse_options(option or []),
            defaults={},
        )
        prepare(speaker, Console(stderr=True))
        save = None if session is None else SaveFile(session)
        loaded = None if save is None else save.load(speaker.provider_id)
        dialogue = Dialogue(
            chat_words(speaker.provider_id), session=None if loaded is None else loaded.session
        )
        if loaded is not None:
            dialogue.notice = loaded.message or ("The conversation goes on." if loaded.session else "")
        interrupts = Interrupts()
        with start_host(speaker) as host, interrupts.watched():
            client = host.client(speaker.provider_id)
            Loop(
                client,
                dialogue,
                TerminalFace(dialogue, standard_input(), interrupts, sys.stdout),
                closed_reason=lambda: client.close_reason,
                keep_session=(lambda _session: None) if save is None else save.store,
            ).run()
    if dialogue.closed_reason is not None:
        say(dialogue.closed_reason)
        raise typer.Exit(EXIT_FAILED)
    if dialogue.answer is not None and dialogue.answer.failed:
        raise typer.Exit(EXIT_FAILED)


def chat_words(name: str) -> Words:
    """What is said in a plain conversation."""
    return Words(
        name=name.capitalize(),
        busy="The answer is still coming. Press Ctrl-C to interrupt.",
        stopping="Interrupting; Ctrl-C again quits.",
        press_again=None,
        forgotten="The provider does not know this conversation any more. What you say next begins a new one.",
    )
