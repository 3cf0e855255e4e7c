"""What of an environment is kept from a game: whatever may be a credential, and nothing that any program is given."""

import random
import string
import sys
import uuid

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine_intelligence.credentials import may_be_a_credential, without_credentials

BASE62 = string.ascii_letters + string.digits
ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "base32": string.ascii_uppercase + "234567",
    "base36": string.ascii_lowercase + string.digits,
    "base62": BASE62,
}
WITH_SEPARATORS = {"base64url": BASE62 + "-_", "base64": BASE62 + "+/"}

# Of names with a word that tells, none of whose values look like anything.
TELLING = [
    "OPENAI_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AZURE_CLIENT_SECRET",
    "GH_TOKEN",
    "GITHUB_PAT",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "SSH_AUTH_SOCK",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "DOCKER_AUTH_CONFIG",
    "NPM_CONFIG__AUTH",
    "MYSQL_PWD",
    "PGPASSWORD",
    "PGPASSFILE",
    "KUBECONFIG",
    "KRB5CCNAME",
    "NETRC",
    "SENTRY_DSN",
    "SLACK_WEBHOOK",
    "DJANGO_SECRET",
    "GPG_PASSPHRASE",
    "SESSION_COOKIE",
    "MY_PASSWORD_2",
    "TOKEN2",
    "openaiApiKey",
    "apiKeyOpenAI",
    "githubTokenFile",
    "XDG_API_KEY",
    "TERM_PROGRAM_TOKEN",
    "PROGRAMDATA_SECRET",
    "DYLD_PASSWORD",
    "service.password",
]

# Under names that say nothing.
SECRET_VALUES = {
    "an OpenAI key": "sk-proj-4fJx9QmT2bVw7ZkLpR8sHn3Dc6Yg1Ea0",
    "an Anthropic key": "sk-ant-api03-4fJx9QmT2bVw7ZkLpR8s-Hn3Dc6Yg1Ea0AA",
    "a GitHub token": "ghp_4fJx9QmT2bVw7ZkLpR8sHn3Dc6Yg1Ea0QqWw",
    "a Hugging Face token": "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",
    "an AWS key id": "AKIAIOSFODNN7EXAMPLE",
    "an AWS secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "a Slack token": "xoxb-2345678901-4567890123-abcdefghABCDEFGH1234ijkl",
    "a Telegram token": "123456789:AAF-4fJx9QmT2bVw7ZkLpR8sHn3Dc6Yg",
    "a JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "base64": "dXNlcjpwYXNzd29yZA==",
    "hex": "8f14e45fceea167a5a36dedd4bea2543",
    "a uuid": "550e8400-e29b-41d4-a716-446655440000",
    "a uuid of digits": "55048400-1294-4124-8716-446655440000",
    "an address with a password": "postgres://anna:hunter2@db.example.org:5432/castle",
    "an address with a user": "https://anna@example.org/",
    "an address without a scheme": "anna:hunter2@db.example.org/castle",
    "a Go DSN": "root:hunter2@tcp(127.0.0.1:3306)/castle",
    "an ADO connection string": "Server=db;User Id=sa;Password=hunter2",
    "JSON with a key": '{"model": "big", "api_key": "hunter2"}',
    "an option with a token": "--verbose --token hunter2",
    "a signed address": "https://store.example.org/file?sig=hunter2&expires=12",
    "a header": "Authorization: Basic hunter2",
    "a bearer": "Bearer hunter2",
    "a PEM": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
    "a key in a list": "castle,4fJx9QmT2bVw7ZkLpR8sHn3D",
    "a key after a path": f"{sys.prefix}:4fJx9QmT2bVw7ZkLpR8sHn3D",
}

# What a game needs, or may be told.
SETTINGS = {
    "PATH": "/usr/local/bin:/usr/bin:/opt/5f3a9c1b7d2e4f6a8b0c/bin",
    "HOME": "/home/anna",
    "USER": "anna",
    "PWD": "/home/anna/5f3a9c1b7d2e4f6a8b0c",
    "TMPDIR": "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/",
    "DISPLAY": ":0",
    "WAYLAND_DISPLAY": "wayland-0",
    "XAUTHORITY": "/run/user/1000/.mutter-Xwaylandauth.5F3A9C",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": "/home/anna/castle/src",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "XDG_DATA_DIRS": "/usr/share/gnome:/usr/local/share:/usr/share",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/tmp/dbus-Xy7,guid=6dba9a2f3c1e4b5d8f7a9c0b1d2e3f40",
    "SESSION_MANAGER": "local/castle:@/tmp/.ICE-unix/1234,unix/castle:/tmp/.ICE-unix/1234",
    "LS_COLORS": "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33:so=01;35:do=01;35:bd=40;33;01:*.tar=01;31",
    "CUDA_VISIBLE_DEVICES": "GPU-550e8400-e29b-41d4-a716-446655440000",
    "ProgramFiles(x86)": r"C:\Program Files (x86)",
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "pulseaudio",
    "QT_QPA_PLATFORM": "offscreen",
    "QT_SCALE_FACTOR": "1.25",
    "GDK_BACKEND": "wayland,x11",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "MESA_GL_VERSION_OVERRIDE": "4.6COMPAT",
    "VK_ICD_FILENAMES": sys.executable,  # any path that there is
    "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
    "__GLX_VENDOR_LIBRARY_NAME": "nvidia",
    "STEAM_COMPAT_CLIENT_INSTALL_PATH": "/home/anna/.local/share/Steam",
    "STEAM_COMPAT_DATA_PATH": "/home/anna/.local/share/Steam/steamapps/compatdata/1245620",
    "SteamAppId": "1245620",
    "WINEDEBUG": "-all",
    "MANGOHUD_CONFIG": "fps_limit=60,position=top-left,font_size=24",
    "PULSE_SERVER": "unix:/run/user/1000/pulse/native",
    "OMP_NUM_THREADS": "4",
    "RUST_LOG": "info,wgpu_core=warn",
    "HTTP_PROXY": "http://proxy.example.org:3128",
    "NO_PROXY": "localhost,127.0.0.1,::1",
    "MYGAME_DEBUG": "1",
    "MYGAME_LEVEL": "castle-3",
    "MYGAME_SIZE": "1920x1080",
    "MYGAME_COLOUR": "#ff00ff",
    "MYGAME_STARTED": "2025-11-30T18:07:00Z",
    "MYGAME_SERVER": "https://play.example.org:8443/lobby",
    "MYGAME_SAVE": "/home/anna/Games/castle/slot3.sav",
    "MYGAME_KEYBOARD": "de",
    "MYGAME_TITLE": "Das Schloss über dem Fluß",
    "MYGAME_EMPTY": "",
}

# Words that no table of this package lists, put together as people name variables.
NAMES = st.lists(
    st.sampled_from(["CASTLE", "LEVEL", "mode", "Render", "OPENAI", "URL", "X", "7", "BACKEND", "ID"]),
    min_size=1,
    max_size=4,
).map("_".join)


@pytest.mark.spec("H2")
@pytest.mark.parametrize("name", TELLING)
def test_a_name_that_tells_is_withheld_whatever_it_holds(name: str) -> None:
    assert may_be_a_credential(name, "word")


@pytest.mark.spec("H2")
@pytest.mark.parametrize("value", SECRET_VALUES.values(), ids=SECRET_VALUES)
def test_a_value_that_looks_like_a_credential_is_withheld_under_a_name_that_says_nothing(value: str) -> None:
    assert may_be_a_credential("CASTLE_BACKEND", value)


@pytest.mark.spec("H2")
def test_an_address_with_a_password_is_withheld_under_the_name_that_services_give_it() -> None:
    assert may_be_a_credential("DATABASE_URL", "mysql://anna:hunter2@db/castle")


@pytest.mark.spec("H2")
def test_even_an_ordinary_variable_passes_no_password_in_an_address() -> None:
    assert may_be_a_credential("PYTHONPATH", "https://anna:hunter2@packages.example.org/")


@pytest.mark.spec("H2")
@pytest.mark.parametrize(("name", "value"), SETTINGS.items(), ids=SETTINGS)
def test_a_setting_passes(name: str, value: str) -> None:
    assert not may_be_a_credential(name, value)


@pytest.mark.spec("H2")
def test_a_path_passes_only_if_it_exists(tmp_path: object) -> None:
    folder = f"{tmp_path}/Xk4fJx9QmT2bVw7ZkLpR8s"
    assert may_be_a_credential("CASTLE_DATA", folder)
    assert not may_be_a_credential("CASTLE_DATA", str(tmp_path))


@pytest.mark.spec("H2")
@given(name=NAMES, token=st.sampled_from(list(ALPHABETS.values())).flatmap(lambda a: st.text(a, min_size=20)))
@example("CASTLE", "a" * 20)
@example("CASTLE", "1" * 20)
@example("CASTLE", "a" * 16 + "1234")
@example("CASTLE", "GardenGatekeeperName")
def test_no_piece_of_twenty_characters_passes_whatever_it_looks_like(name: str, token: str) -> None:
    assert may_be_a_credential(name, token)


@pytest.mark.spec("H2")
@given(
    name=NAMES,
    value=st.uuids(),
    upper=st.booleans(),
    around=st.sampled_from(["{}", "urn:uuid:{}", "a={}", "{{{}}}"]),
)
def test_no_uuid_passes(name: str, value: uuid.UUID, upper: bool, around: str) -> None:
    text = str(value).upper() if upper else str(value)
    assert may_be_a_credential(name, around.format(text))


@pytest.mark.spec("H2")
@pytest.mark.parametrize("alphabet", WITH_SEPARATORS.values(), ids=WITH_SEPARATORS)
@given(name=NAMES, seed=st.integers(0, 2**64), chars=st.integers(24, 200))
@settings(derandomize=True)  # one of 24 characters in 400,000 is words and numbers by chance
def test_no_random_token_passes_that_has_separators_in_it(
    alphabet: str, name: str, seed: int, chars: int
) -> None:
    # Random as keys are: Hypothesis itself would draw words.
    token = "".join(random.Random(seed).choices(alphabet, k=chars))
    assert may_be_a_credential(name, token)


@pytest.mark.spec("H2")
@pytest.mark.parametrize("alphabet", WITH_SEPARATORS.values(), ids=WITH_SEPARATORS)
def test_hardly_any_of_the_shortest_random_tokens_passes(alphabet: str) -> None:
    draw = random.Random(20)
    tokens = ("".join(draw.choices(alphabet, k=20)) for _ in range(5_000))
    assert sum(not may_be_a_credential("CASTLE_BACKEND", token) for token in tokens) <= 1  # one in 45,000


@pytest.mark.spec("H2")
@given(name=st.text(), value=st.text())
@example("X", "/\0")
@example("", "")
def test_any_variable_is_judged(name: str, value: str) -> None:
    assert may_be_a_credential(name, value) in (True, False)


@pytest.mark.spec("H2")
@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_what_passes_and_what_is_withheld_are_the_whole_environment(environment: dict[str, str]) -> None:
    sifted = without_credentials(environment)
    assert sorted([*sifted.environment, *sifted.withheld]) == sorted(environment)
    assert sifted.environment.items() <= environment.items()


@pytest.mark.spec("H2")
@given(st.dictionaries(st.text(min_size=1), st.text()), st.text(min_size=1), st.text())
@example({}, "OPENAI_API_KEY", "sk-proj-4fJx9QmT2bVw7ZkLpR8sHn3D")
def test_what_is_kept_passes_whatever_it_holds(environment: dict[str, str], name: str, value: str) -> None:
    sifted = without_credentials({**environment, name: value}, keep=[name])
    assert sifted.environment[name] == value
    assert name not in sifted.withheld


@pytest.mark.spec("H2")
def test_to_keep_one_variable_passes_no_other() -> None:
    environment = {"OPENAI_API_KEY": "one", "OPENAI_API_KEY_2": "two"}
    assert without_credentials(environment, keep=["OPENAI_API_KEY"]).withheld == ["OPENAI_API_KEY_2"]


@pytest.mark.spec("H2")
def test_what_is_withheld_is_named_in_order() -> None:
    environment = {"B_TOKEN": "x", "HOME": "/", "A_TOKEN": "x"}
    assert without_credentials(environment).withheld == ["A_TOKEN", "B_TOKEN"]
