"""Whether letters look like a word of a language, rather than like letters drawn by chance (rule E2).

A key may be nothing but letters. What tells it from a word is which letters follow one another: of all groups of three,
English prose uses a quarter. Sixteen letters that were drawn by chance pass about once in a hundred thousand times, eight
once in two hundred. Names of things (`gguf`, `errno`) are no prose, so those that matter are listed.
"""

from __future__ import annotations

import re
from functools import cache

# Up to three letters hold less than a character of a good password, and any three are somebody's abbreviation.
_FREE_LETTERS = 3

# The length of "internationalizationally"; what is longer is no word, whatever it is made of.
_MAX_LETTERS = 24

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# More capitals than this in one name are none that a person chose.
_MAX_PARTS = 6

_NAMES_TEXT = (
    "aiohttp args argv async asyncio await budget budgets cpus ctx cuda eacces econnaborted econnrefused econnreset eexist "
    "ehostunreach enoent enotfound epipe errno etimedout ggml gguf gib gpus grpc html http httpcore https httpx init "
    "json jsonl kib kwargs llama llamacpp llms loopback mib msgpack msgspec mypy numpy oauth openai posix pypi pytest python "
    "qwen regex repr rocm rpc scipy sdk smollm sqlite sqlstate ssl stderr stdin stdout stt subprocess tib toml tts "
    "utf uuid vram xdg xllamacpp yaml"
)
_NAMES = frozenset(_NAMES_TEXT.split())


def looks_like_word(name: str) -> bool:
    """Whether ASCII letters could be a word, an acronym or several of them in CamelCase. Pure; any thread may call it."""
    if not name.isascii() or not name.isalpha():
        return False
    if name.lower() in _NAMES:
        return True
    parts = _PARTS.findall(name)
    if len(parts) > _MAX_PARTS or sum(len(part) < _FREE_LETTERS for part in parts) > 1:
        return False
    return all(_looks_like_word(part.lower()) for part in parts)


def _looks_like_word(letters: str) -> bool:
    if len(letters) <= _FREE_LETTERS or letters in _NAMES:
        return True
    if len(letters) > _MAX_LETTERS:
        return False
    known = _known_groups()
    return all(letters[start : start + 3] in known for start in range(len(letters) - 2))


@cache
def _known_groups() -> frozenset[str]:
    return frozenset(
        first + entry[0] + third
        for first, entries in _FOLLOWING.items()
        for entry in entries.split()
        for third in entry[2:]
    )


# First letter, second letter, and all that may be third: the groups that occur in two words, or in one common word, of the
# 17,745 that are used in at least five files of the documentation strings of Python's standard library and its packages.
_FOLLOWING = {
    "a": (
        "a:bcelnprs b:abceilnorsu c:abcdehiklmoqrstuy d:abcdefhijlmnoprstuvy e:bcdfhlmors f:aefort "
        "g:aefgilmnorsu h:abeimnor i:cdefgjklmnrstv j:io k:adehikoprsuy l:abcdefghiklmnoprstuvwyz "
        "m:abcdeilmopstuyz n:acdefghijklnopstuvyz o:lrs p:aefhiloprst q:u r:abcdefgijklmnopqrstuvwxyz "
        "s:acdehiklmnopstuyz t:acefhiklmoprstuvwyz u:cdglmnrstx v:aeilory w:aefiklnsy x:efilpstuv y:abeilmnos "
        "z:aeiouy"
    ),
    "b": (
        "a:abcdghiklnprstuz b:aceilor c:abcdflors d:aeio e:acdefghilnrstvwxy f:dfgiou g:cr i:abcdegjlnopstz "
        "j:eo k:e l:aeikouy m:aio n:eos o:abcdegilmnorstuvxy p:alort r:aeiotu s:cdeiopsty t:aelory "
        "u:bcefgilmnrstvy v:i y:egnprst z:i"
    ),
    "c": (
        "a:bcdefilmnprstuvy b:o c:adehiou d:adefio e:abcdefhilmnprstw f:fginu g:is h:adegilmnorstuwy "
        "i:abdefilmnoprstz j:s k:abefghilmnopqrstuwxy l:aeiosuy m:adeu n:o o:abcdefghilmnoprstuvx p:apuy q:u "
        "r:aeilotuy s:cehirstvy t:aeilnorsuxy u:bilmnprst v:aes w:di y:cglrt z:e"
    ),
    "d": (
        "a:bcdefgilmnprstuvwxy b:aceimou c:aot d:abefilors e:abcdefgijklmnopqrstvwxz f:afiorsu g:em h:aeou "
        "i:acdefglmnorstuvxz j:ajou k:j l:eiloy m:aio n:aeis o:cdefgiklmnoprstuvw p:aors q:fs r:aeiouyz "
        "s:aehiot t:hlorsuy u:abcefgilmnprst v:aei w:air y:ailn"
    ),
    "e": (
        "a:bcdfgklmnprstuv b:acefiloprsuy c:acdefhiklmorstuvy d:abcdefghilmnorstuwy e:abcdfiklmnprstvwz "
        "f:acefgilnorstu g:aefgilmoruy h:aeimnor i:bdfgjklmnorstv j:aeis k:deis l:abcdefgijklmnopstuvy "
        "m:abcdegimnopsuy n:abcdefghijklnopqrstuvwyz o:bdfglmnpruv p:acefhiloprstu q:su "
        "r:abcdefghiklmnoprstuvwy s:acehiklnopqstuy t:abcdefghilmnoprstuvwyz u:cdegilnprst v:aeinost "
        "w:aehilnorst x:acdehiopt y:bcefilopstw z:eio"
    ),
    "f": (
        "a:bcdefhiklmnrstuv b:c c:ho d:de e:abcdefilnrstvw f:bdeilmorst g:hs i:abcdefglnorstvx l:aeiouy m:ait "
        "n:am o:cdklnorsux p:ar r:aeio s:ceimpstu t:aefhimnopswy u:jlnrstz y:di"
    ),
    "g": (
        "a:bcilmnprstuv b:a c:cdor d:bo e:abdlmnoprstvxy f:airu g:aeilrsy h:abelopst i:abcdeflmnorstv "
        "l:aeiouvxy m:aeioprx n:aeimosu o:adefgilmnorstuv p:aglrt r:aeiotuy s:ceikopst t:ehko u:aefilmnorsty "
        "v:a w:i y:p z:hi"
    ),
    "h": (
        "a:abcdehiklmnoprstuvwy b:ao c:h d:aior e:abcdefilmnoprstuvwxy f:u h:o i:abcdefgjklmnoprstv j:a k:o "
        "l:aeiy m:aeimos n:aeilos o:cdefgiklmnoprstuvwy p:a q:l r:aeiotu s:eipt t:aefilmrstw u:abfgilmnrst "
        "v:i w:ao y:bps"
    ),
    "i": (
        "a:bcdghlmnrst b:abcdefgilmnoprstux c:acefhiklmorstuyz d:adefgilnoprstuxy e:bcdfgjlmnrstuvw "
        "f:aefinoty g:aeghimnoprsuv h:eior i:dn j:aeiks k:aehiorsu l:abcdefghiklmopstuvy m:abdegimopsu "
        "n:abcdefghijklmnoprstuvxy o:cdgjlmnrstu p:aefhilmprstuvy q:u r:acdefiklmnorstwy "
        "s:abcdefhijklmnopqrstuyz t:abcdefhilmnoprstuwyz u:cms v:aeio w:ao x:abeimptu y:a z:aeio"
    ),
    "j": ("a:acekmnprsvxy b:e e:acdflnrst i:amnrst k:l o:abehinrsuy p:e q:u s:fo t:h u:adglmnrs w:o y:t"),
    "k": (
        "a:abdghilmnprstwyz b:o c:o d:aeijo e:bdefilnprstuvwxy f:il g:r h:aeimo i:abcdelmnprsty j:f k:aei "
        "l:aeiosuy m:ae n:aeou o:beklnprsuvw p:or q:u r:abeio s:deiloptu t:ehior u:bcknprst w:adio y:l z:e"
    ),
    "l": (
        "a:bcdeghikmnoprstuvwxyz b:aelr c:hlou d:bcefiknorsw e:abcdefghijklmnoprstuvwxy f:ilors g:aeor h:eos "
        "i:abcdefghklmnopqstuvxz k:dehijs l:abceimnorstuvy m:aeiou n:aesuy o:abcdgimnoprstuvwy p:aefhirstu "
        "r:aeiou s:acdehikopqst t:adehijosuyz u:abcdegikmnoprst v:adeimn w:a x:c y:afghilmnopstuz z:em"
    ),
    "m": (
        "a:bcdgijklmnprstuvwxyz b:adeilorsu c:aop d:ios e:abcdefghilmnoprstwxyz f:io g:ir i:acdegklmnoqrstuxz "
        "j:s k:dest l:aeisy m:aeiouy n:eis o:bcdeghijklmnorstuvz p:adefhilmnoprstuyz r:eo s:ceghiotuvy t:ir "
        "u:celmnrst v:e w:o y:afps"
    ),
    "n": (
        "a:bcdfgiklmnprstuvwy b:aeilorsu c:acehilnorstuy d:abefhilmnoprstuwy e:acdefgiklmnopqrstuvwxyz "
        "f:eilorstu g:adefhilnorstuwz h:aeio i:abcdefghklmnopqrstuvxz j:aeiosu k:aeilnosy l:aeiouy m:aeo "
        "n:aeikouy o:abcdfgiklmnopqrstuvwxy p:ailmortuy q:u r:aeio s:acefhiklmopstuw t:abcefhilmoprsuwyz "
        "u:aeilmnoprstx v:aegios w:aehior y:abcilmotw z:aeio"
    ),
    "o": (
        "a:cdhlnrt b:abefijlopstuvy c:acefhiklorstuz d:abdeginorsuy e:cdflmnrstvy f:afistu g:aefgilmnoprsuy "
        "h:aeinrt i:cdjnrstz j:ei k:abehikmosu l:abcdefiklmnopstuvyz m:abefilmnoprsy "
        "n:abcdefgijklmnoprstuvwyz o:bdfgiklmnprst p:abcehilmoprstuy q:a r:abcdefghiklmnopqrstuvwy "
        "s:acehilmnopstuxyz t:acefhilmnopstwy u:bcdfghilnprstv v:aeio w:abceilmnrst x:ceiy y:adeimosu z:ei"
    ),
    "p": (
        "a:bcdgilmnopqrstuvwy b:io c:aors d:abefi e:acdefglmnoprstvz f:iu g:prs h:aeiopqrsvy "
        "i:acdefglmnprstvx k:gt l:adeiortuy m:aef n:ag o:cefgiklnoprstuw p:acdeilorsy r:aeiosu s:aehiotu "
        "t:aehiloprsuy u:bilmnrst v:a w:adi y:acdfgilmoprstv"
    ),
    "q": ("l:i r:t u:abeio"),
    "r": (
        "a:abcdefghijklmnoprstuvwyz b:aeilou c:aehiklostu d:acehilnostuw e:abcdefghijklmnopqrstuvwxyz "
        "f:acefilosu g:abceimnopsuvy h:aeosu i:abcdefgjklmnopstuvxyz j:au k:adefilostuxz l:acdefilosy "
        "m:acdefilosu n:acdegilmosy o:abcdefghijklmnoprstuvwxyz p:acehilortu q:u r:aeinouy s:acehijkopstu "
        "t:abcdefhilmnorsuwyz u:bcdefiklmnpst v:aei w:aior x:i y:adilopstvw z:ei"
    ),
    "s": (
        "a:abcdfghiklmnprstuvwxy b:aeu c:adehiklmortu d:aefijklo e:abcdefgiklmnpqrstuvwy f:aeiouy g:ai "
        "h:abceiklmnortu i:abcdefgklmnoprstuvxz j:o k:aeijosty l:adeiotuy m:aeiosu n:aeioy o:cefiklmnoprsu "
        "p:aehilorux q:flrsu r:aceiou s:abcdefhilmnoptuwy t:abcdefghilmnoprstuwy u:abcdefgilmnprst v:acdegn "
        "w:adeio y:blmnrs z:emt"
    ),
    "t": (
        "a:bcdefghiklmnprstuvwxy b:eloruy c:ahlopu d:abeiloqt e:abcdefgiklmnoprstuvwxyz f:iortu g:or "
        "h:adefhilmnorsuwy i:abcdefghklmnoprstuvz j:e k:iopt l:aeiosy m:aelopu n:aeoy o:abcdefgiklmnoprstuvw "
        "p:aeilorsuw r:abcefilosuy s:cehimopqtuw t:aehiloprsy u:abcdefgikmnprst v:ae w:aegior x:t y:lnp "
        "z:filmos"
    ),
    "u": (
        "a:bdglmnrst b:abcdefgijklmnoprstu c:acdehiklt d:aefgioprswy e:cdehlnprstuz f:ftu g:aefghilmrsu h:ai "
        "i:cdelnprstvz j:ai k:aehikoru l:adefiklnoprstuyz m:abefilmnopsuv n:abcdefghiklmnopqrstuwyz o:tu "
        "p:cdeghiloprstwy r:abcdefgiklmnoprstuvy s:acehiloprstuyz t:abcdefghilmoprstuwy u:i v:ae w:e x:i y:ev "
        "z:z"
    ),
    "v": (
        "a:bcdghilnrstu c:rv d:a e:acdeilmnrstxy g:ae i:acdegklmnorstvz l:i n:d o:ciklnrstu r:o s:e t:a u:l"
    ),
    "w": (
        "a:bcdghiklnprstvy b:a c:w d:aos e:abdeiklnrsv h:aeioy i:cdegjklmnrst l:eiy m:a n:aceilsw o:flnoru "
        "r:aiot s:ceko t:ho y:e"
    ),
    "x": (
        "a:cdmnrst c:aehlou d:egi e:cdlmrsx f:ao h:ai i:bcelmnstv l:i m:aeil o:nrt p:aeilmor r:ae s:ilp "
        "t:abceirsu u:p v:a y:z"
    ),
    "y": (
        "a:bdhklmnprst b:aeior c:hlo d:adeio e:adelnrst f:iu g:aemorw i:en l:aeiov m:abelmops n:acdeiot "
        "o:nprsu p:aehilorty r:ei s:acehilqtz t:ehios u:ckrt v:aei w:aho z:e"
    ),
    "z": ("a:bckrt b:e e:dejklnrstu f:i h:aio i:egklnpst l:eio m:a o:ilmno s:t t:a u:r z:i"),
}
