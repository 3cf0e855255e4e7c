"""The estimate of tokens, beside what a model's own vocabulary makes of the same texts. It is a small one, made for English."""

import asyncio
from pathlib import Path

from local.talking import connected

from engine_intelligence.conversation import estimated_tokens
from engine_intelligence.providers.llama_server import LlamaServer, LlamaServers

TEXTS = {
    "English": "The gatekeeper looks at you for a long while, and then he shakes his head. Nobody passes after dark.",
    "German": "Der Torwächter sieht dich lange an und schüttelt dann den Kopf, schon gar nicht mit Überschuhen.",
    "Finnish": "Vartija katsoo sinua pitkään ja pudistaa sitten päätään kylmästi.",
    "Polish": "Strażnik patrzy na ciebie długo, a potem kręci głową i zamyka bramę.",
    "Russian": "Привратник долго смотрит на тебя, а потом качает головой.",
    "Arabic": "نظر إليك الحارس طويلا ثم هز رأسه",
    "Chinese": "守门人久久地看着你，然后摇了摇头。天黑以后谁也不许过去，他说。",
    "Japanese": "門番はあなたを長い間見つめ、それから首を横に振りました。",
    "Korean": "문지기는 당신을 오랫동안 바라보다가 고개를 저었습니다.",
    "Hindi": "द्वारपाल ने तुम्हें देर तक देखा और सिर हिलाया।",
    "emoji": "👋🏽 🙂 👩‍👩‍👧‍👦 🏰🐉🔥",
    "names": "Aelthyrion Vorgrakh, Xyl'quen and Mzhdarrow",
    "single letters": "a b c d e f g h i j k l m",
    "a program": "def f(x):\n    return [y**2 for y in range(x) if y % 3 == 0]\n",
    "a table": "| name | hp |\n|---|---|\n| orc | 12 |",
    "numbers": "3.14159265358979323846264338327950288",
}


def test_no_text_takes_more_tokens_than_are_estimated(model_path: Path) -> None:
    async def scenario() -> dict[str, tuple[int, int]]:
        server = LlamaServers().acquire(model_path, context=256, slots=1)
        try:
            return {
                name: (await counted(server, text), estimated_tokens(text)) for name, text in TEXTS.items()
            }
        finally:
            await server.close()

    found = asyncio.run(scenario())
    assert {name: both for name, both in found.items() if both[0] > both[1]} == {}
    english = found["English"]
    assert english[1] <= 3 * english[0]  # or much of a conversation would be dropped for nothing


async def counted(server: LlamaServer, text: str) -> int:
    """How many tokens the model reads `text` as, without what stands around a message."""
    async with connected(server) as client:
        reply = await client.post("/tokenize", json={"content": text})
        reply.raise_for_status()
        return len(reply.json()["tokens"])
