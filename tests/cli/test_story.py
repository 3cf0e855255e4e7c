"""The scene follows the contract: text is shown as it streams, and only a completed answer changes anything."""

import pytest
from cli.talking import WORDS, outcomes, says, stage

from engine_intelligence import ProviderError, SessionRef
from engine_intelligence.cli.dialogue import Dialogue
from engine_intelligence.cli.loop import Interrupt, Quit, Say
from engine_intelligence.cli.play.story import Story, gatekeeper_words
from engine_intelligence.providers.scripted import Script


def test_the_bubble_shows_the_text_so_far() -> None:
    play = stage(says("You ", "may ", "pass."))
    play.frame(Say("May I pass?"))
    play.provider.advance()
    play.provider.advance()
    play.frame()
    assert play.story.answer is not None
    assert play.story.answer.text == "You may "


def test_the_phases_follow_the_activity() -> None:
    play = stage(says("You ", "may."))
    phases = [play.story.phase]
    play.frame(Say("May I pass?"))
    phases.append(play.story.phase)
    play.provider.advance()
    play.frame()
    phases.append(play.story.phase)
    play.play_out()
    phases.append(play.story.phase)
    assert phases == ["idle", "waiting", "speaking", "ended"]


def test_text_that_streams_does_not_open_the_gate() -> None:
    play = stage(says("You may pass. ", "Good night."))
    play.frame(Say("May I pass?"))
    play.provider.advance()
    play.frame()
    assert not play.story.gate_open


def test_a_completed_answer_that_grants_passage_opens_the_gate() -> None:
    play = stage(says("You may pass."))
    play.frame(Say("May I pass?"))
    play.play_out()
    assert play.story.gate_open


def test_the_completed_text_is_judged_and_not_what_streamed() -> None:
    play = stage(Script(deltas=("You may pass.",), output="You may not pass."))
    play.frame(Say("May I pass?"))
    play.play_out()
    assert not play.story.gate_open


@pytest.mark.parametrize("failure", ["it broke", ProviderError("gone", reason="crashed")])
def test_a_failed_answer_does_not_open_the_gate(failure: str | ProviderError) -> None:
    play = stage(Script(deltas=("You may pass.",), failure=failure))
    play.frame(Say("May I pass?"))
    play.play_out()
    assert not play.story.gate_open
    assert play.story.any_failed


def test_a_cancelled_answer_does_not_open_the_gate() -> None:
    play = stage(says("You may pass.", " Good night."))
    play.frame(Say("May I pass?"))
    play.provider.advance()
    play.frame(Interrupt())
    play.play_out()
    assert outcomes(play.story) == ["cancelled"]
    assert not play.story.gate_open


def test_an_answer_cut_at_its_length_is_judged_by_its_whole_sentences() -> None:
    play = stage(
        Script(deltas=("You may pass. Not",), finish="length"),
        Script(deltas=("You may pass",), finish="length"),
    )
    for expected in (True, True):
        play.frame(Say("May I pass?"))
        play.play_out()
        assert play.story.gate_open is expected


def test_an_unfinished_grant_does_not_open_the_gate() -> None:
    play = stage(Script(deltas=("You may pass",), finish="length"))
    play.frame(Say("May I pass?"))
    play.play_out()
    assert not play.story.gate_open


def test_speaking_while_he_speaks_is_refused_in_words() -> None:
    play = stage(says("Hm."))
    play.frame(Say("May I pass?"))
    play.frame(Say("May I?"))
    assert play.story.notice == "He is still speaking. Press Esc to interrupt."
    assert play.story.questions == 1


def test_an_empty_line_is_refused_in_words() -> None:
    play = stage()
    play.frame(Say("  "))
    assert play.story.notice == "Type something to say, then press Enter."


def test_an_interrupt_cancels_what_is_being_said() -> None:
    play = stage(says("Hm.", "Well."))
    play.frame(Say("May I pass?"))
    play.frame(Interrupt())
    assert play.provider.calls[-1][0] == "cancel"
    assert not play.story.quitting


def test_an_interrupt_with_nothing_to_interrupt_asks_for_a_second_one() -> None:
    play = stage()
    play.frame(Interrupt())
    assert play.story.notice == "Press Esc again to quit."
    play.frame(Interrupt())
    assert play.story.quitting


def test_two_interrupts_far_apart_do_not_quit() -> None:
    story = Story(WORDS)
    story.interrupt(1.0)
    story.interrupt(60.0)
    assert not story.quitting


def test_in_a_terminal_an_interrupt_with_nothing_to_interrupt_quits() -> None:
    story = Story(gatekeeper_words("Ctrl-C", quits_at_once=True))
    story.interrupt(1.0)
    assert story.quitting


def test_leaving_ends_the_loop() -> None:
    play = stage()
    play.face.next.append(Quit())
    play.loop.run()
    assert play.meter.frames == 1


def test_a_completed_answer_is_saved_once_for_its_conversation() -> None:
    play = stage(says("Hm."), says("Well."))
    for line in ("May I pass?", "Please."):
        play.frame(Say(line))
        play.play_out()
    assert len(play.kept) == 1


def test_an_answer_that_failed_saves_nothing() -> None:
    play = stage(Script(failure="it broke"))
    play.frame(Say("May I pass?"))
    play.play_out()
    assert play.kept == []


def test_a_save_that_did_not_work_is_told() -> None:
    play = stage(says("Hm."), save_fault="The disk is full.")
    play.frame(Say("May I pass?"))
    play.play_out()
    assert play.story.notice == "The disk is full."


def test_a_saved_session_is_continued_and_the_player_told() -> None:
    session = SessionRef("gatekeeper", "saved")
    play = stage(says("You again."), story=Story(WORDS, session=session))
    assert play.story.notice == "The gatekeeper remembers you."
    play.frame(Say("May I pass?"))
    play.play_out()
    assert play.story.session == session


@pytest.mark.parametrize("session", [SessionRef("other", "saved"), SessionRef("gatekeeper", "")])
def test_a_session_that_is_refused_is_dropped_and_the_player_told(session: SessionRef) -> None:
    play = stage(story=Story(WORDS, session=session))
    play.frame(Say("May I pass?"))
    assert play.story.session is None
    assert play.story.notice == WORDS.forgotten


def test_a_session_that_the_provider_lost_is_dropped_and_the_player_told() -> None:
    story = Story(WORDS, session=SessionRef("gatekeeper", "saved"))
    play = stage(Script(failure=ProviderError("gone", reason="session-lost")), story=story)
    play.frame(Say("May I pass?"))
    play.play_out()
    assert story.session is None
    assert story.notice == WORDS.forgotten


def test_a_failure_is_told_with_its_cause() -> None:
    play = stage(Script(failure=ProviderError("the model is gone", reason="crashed")))
    play.frame(Say("May I pass?"))
    play.play_out()
    assert play.story.notice == "That did not work: the model is gone (crashed)"


def test_a_service_that_closed_ends_the_answer_and_refuses_the_next() -> None:
    play = stage(says("Hm."))
    play.frame(Say("May I pass?"))
    play.story.service_closed("The Host ended.")
    assert outcomes(play.story) == ["failed: The Host ended."]
    play.frame(Say("Hello?"))
    assert play.story.notice == "Nobody can answer any more: The Host ended."


def test_events_of_an_activity_that_is_not_the_current_one_change_nothing() -> None:
    play = stage(says("You may pass."))
    play.service.submit("asked by somebody else")
    play.provider.advance()
    play.frame()
    assert play.story.answer is None
    assert play.story.events == 1


def test_control_characters_of_the_model_are_not_shown() -> None:
    play = stage(says("\x1b[2J", "Hm.\x07"))
    play.frame(Say("May I pass?"))
    play.play_out()
    assert play.story.answer is not None
    assert play.story.answer.text == "Hm."


def test_times_are_from_the_loops_clock() -> None:
    dialogue = Dialogue(WORDS)
    play = stage(says("a", "b", "c"))
    dialogue.asked("?", play.service.submit("?"), now=10.0)
    for now in (12.0, 12.5, 13.0):
        play.provider.advance()
        for event in play.service.poll():
            dialogue.accept(event, now)
    answer = dialogue.answer
    assert answer is not None
    assert (answer.time_to_first_text_s, answer.deltas_per_s) == (2.0, 2.0)
