"""`engine-intelligence play`: what the options mean, and which face the loop gets."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from engine_intelligence.cli.errors import EXIT_FAILED, plainly, say
from engine_intelligence.cli.frames import FrameMeter
from engine_intelligence.cli.lines import Interrupts, standard_input
from engine_intelligence.cli.loop import Face, Loop
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
from engine_intelligence.cli.play.display import DisplayMissing, open_window
from engine_intelligence.cli.play.story import (
    INSTRUCTIONS,
    MAX_TOKENS,
    SCRIPTED_TEXT,
    TEMPERATURE,
    Story,
    gatekeeper_words,
)
from engine_intelligence.cli.report import run_table
from engine_intelligence.cli.saves import Loaded, SaveFile
from engine_intelligence.cli.speaker import (
    Speaker,
    choose_speaker,
    parse_options,
    prepare,
    saves_directory,
    start_host,
)
from engine_intelligence.cli.terminal import HeadlessFace, TerminalFace

_USUAL_PROVIDER_ID = "llama"

DEFAULTS = {
    "llama": {"instructions": INSTRUCTIONS, "max_tokens": MAX_TOKENS, "temperature": TEMPERATURE},
    "scripted": {"text": SCRIPTED_TEXT, "interval_s": 0.05},
}


def play(
    headless: Annotated[
        bool,
        typer.Option(
            "--headless",
            help="The same loop without screen or keyboard: says every --say, then prints a table.",
        ),
    ] = False,
    say_lines: Annotated[
        list[str] | None,
        typer.Option(
            "--say",
            metavar="TEXT",
            help="Say this; can be given several times, and each waits for the answer before.",
        ),
    ] = None,
    provider: Provider = "llama",
    model: Model = None,
    instructions: Instructions = None,
    seed: Seed = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    option: Option = None,
    host_file: HostFile = None,
    character: Character = None,
    save: Annotated[
        Path | None, typer.Option(help="The save file; by default one in the user's data directory.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin anew, whatever was saved.")] = False,
    screenshot: Annotated[
        Path | None,
        typer.Option(help="Say every --say, save a picture of the window in this PNG file, and quit."),
    ] = None,
) -> None:
    """Stand before a gate and talk to its keeper, in a window that runs at 60 frames a second."""
    lines = list(say_lines or [])
    with plainly():
        if headless and screenshot is not None:
            raise ValueError("There is no picture without a window: leave out --headless or --screenshot.")
        if not lines and (headless or screenshot is not None):
            raise ValueError('Nothing is said: add --say "May I pass?", several times if you like.')
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
            defaults=DEFAULTS,
        )
        prepare(speaker, Console(stderr=True))
        save_file = SaveFile(save if save is not None else saves_directory() / save_name(speaker.provider_id))
        loaded = Loaded(None) if new else save_file.load(speaker.provider_id)
        if headless:
            story = _story("Ctrl-C", loaded)
            meter = _run(speaker, story, HeadlessFace(story, lines, sys.stdout), save_file)
            Console().print(run_table(meter, story))
        else:
            story = _play_in_window(speaker, loaded, save_file, lines, screenshot)
    if story.closed_reason is not None:
        say(story.closed_reason)
    if story.closed_reason is not None or ((headless or screenshot is not None) and story.any_failed):
        raise typer.Exit(EXIT_FAILED)


def _play_in_window(
    speaker: Speaker, loaded: Loaded, save_file: SaveFile, lines: list[str], screenshot: Path | None
) -> Story:
    story = _story("Esc", loaded, quits_at_once=False)
    if loaded.message is not None:
        say(loaded.message)  # in full, and still there when the window is closed
    meter = FrameMeter()
    try:
        with open_window(story, meter, lines=lines, screenshot=screenshot) as window:
            _run(speaker, story, window, save_file, meter)
            return story
    except DisplayMissing as missing:
        if screenshot is not None:
            raise ValueError(
                f"{missing} For a picture without a screen, set SDL_VIDEODRIVER=dummy."
            ) from None
        say(f"{missing} The game goes on in the terminal.")
    story = _story("Ctrl-C", loaded)
    interrupts = Interrupts()
    with interrupts.watched():
        face = TerminalFace(story, standard_input(), interrupts, sys.stdout, first_lines=lines)
        Console().print(run_table(_run(speaker, story, face, save_file), story))
    return story


def save_name(provider_id: str) -> str:
    """The name of a save file: one for each provider, because a conversation belongs to the one that led it."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", provider_id).strip("-")
    return "play.json" if provider_id == _USUAL_PROVIDER_ID else f"play-{plain}.json"


def _story(key: str, loaded: Loaded, *, quits_at_once: bool = True) -> Story:
    story = Story(gatekeeper_words(key, quits_at_once=quits_at_once), session=loaded.session)
    if loaded.message is not None:
        story.notice = loaded.message
    return story


def _run(
    speaker: Speaker, story: Story, face: Face, save_file: SaveFile, meter: FrameMeter | None = None
) -> FrameMeter:
    """Run the loop to its end. The Host starts beside the first frames, and is gone when this returns."""
    meter = FrameMeter() if meter is None else meter
    with start_host(speaker) as host:
        client = host.client(speaker.provider_id)
        Loop(
            client,
            story,
            face,
            closed_reason=lambda: client.close_reason,
            keep_session=save_file.store,
            meter=meter,
        ).run()
    return meter
