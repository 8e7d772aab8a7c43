"""Several files become one suite."""

from pathlib import Path

import pytest

from pytest_nel.config.composed import compose
from pytest_nel.config.load import load_suite
from pytest_nel.config.overrides import read_override
from pytest_nel.config.tree import Composed
from pytest_nel.core.errors import ConfigError


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A suite that builds on a base and on fragments of two places."""
    return write(
        tmp_path,
        {
            "main.nel.yaml": (
                "defaults:\n  - {_base_: base}\n  - services/fast\nservices:\n  m: {model: big}\n"
            ),
            "base.yaml": (
                "services:\n  m: {type: api, model: small, url: 'http://h/v1/chat/completions',\n"
                "      protocol: chat_completions}\n"
                "benchmarks:\n  - {name: gsm8k, solver: {type: simple, service: m}}\n"
                "output:\n  dir: out\n  timestamped: false\n"
            ),
            "conf/services/fast.yaml": "m:\n  generation: {temperature: 0}\n",
        },
    )


def write(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def composed(folder: Path, name: str = "main.nel.yaml", *overrides: str) -> Composed:
    return compose(folder / name, env={}, overrides=[read_override(one) for one in overrides])


def complaint(folder: Path, name: str = "main.nel.yaml", *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        composed(folder, name, *overrides)
    return str(caught.value).replace(f"{folder}/", "")


def test_bases_and_fragments_are_merged_below_the_file(files: Path) -> None:
    suite = load_suite(files / "main.nel.yaml", {}).raw

    assert suite["services"]["m"]["model"] == "big"
    assert suite["services"]["m"]["generation"] == {"temperature": 0}
    assert suite["services"]["m"]["type"] == "api"
    assert "defaults" not in suite


def test_each_value_knows_the_file_and_the_line_it_comes_from(files: Path) -> None:
    suite = composed(files, "main.nel.yaml", "output.dir=elsewhere")

    said = {
        path: str(suite.at(path)).removeprefix(f"{files}/")
        for path in (
            ("services", "m", "model"),
            ("services", "m", "protocol"),
            ("services", "m", "generation", "temperature"),
            ("output", "dir"),
        )
    }

    assert list(said.values()) == [
        "main.nel.yaml:5",
        "base.yaml:3",
        "conf/services/fast.yaml:2",
        "override output.dir",
    ]


def test_a_mistake_is_reported_in_the_file_where_it_stands(files: Path) -> None:
    (files / "conf/services/fast.yaml").write_text("m:\n  url: ${GONE}\n", encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        load_suite(
            files / "main.nel.yaml",
            {},
            overrides=[read_override("output.progress_interval=never")],
        )

    lines = str(caught.value).replace(f"{files}/", "").splitlines()
    assert lines[0].startswith("conf/services/fast.yaml:2: services.m.url: environment variable")


def test_a_mistake_in_an_override_is_reported_as_its(files: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_suite(
            files / "main.nel.yaml",
            {},
            overrides=[read_override("output.progress_interval=never")],
        )

    assert str(caught.value) == (
        "override output.progress_interval: output.progress_interval: expected a number, "
        "got 'never'"
    )


def test_self_says_where_the_file_itself_stands(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": "defaults: [_self_, cluster/one, plain]\na: 1\ncluster: {x: mine}\n",
            "conf/cluster/one.yml": "x: theirs\n",
            "conf/plain": "a: theirs\n",
        },
    )

    assert composed(tmp_path).value == {"a": "theirs", "cluster": {"x": "theirs"}}


def test_a_group_is_the_first_part_of_a_name_and_clusters_are_cluster(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": "defaults: [services/a/b, clusters/local, benchmarks/core]\n",
            "conf/services/a/b.yaml": "m: {x: 1}\n",
            "conf/benchmarks/core.yaml": "- name: gsm8k\n",
        },
    )

    assert composed(tmp_path).value == {
        "services": {"m": {"x": 1}},
        "cluster": {"type": "local"},
        "benchmarks": [{"name": "gsm8k"}],
    }


def test_fragments_build_on_others_of_their_group(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": "defaults: [services/fast]\n",
            "conf/services/fast.yaml": "defaults: [services/slow, more]\nm: {x: 2}\n",
            "conf/services/slow.yaml": "m: {x: 1, y: 1}\n",
            "conf/services/more.yaml": "n: {z: 1}\n",
        },
    )

    assert composed(tmp_path).value == {"services": {"m": {"x": 2, "y": 1}, "n": {"z": 1}}}


def test_two_bases_may_share_one_and_keep_what_each_of_them_changes(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": "defaults: [{_base_: left}, {_base_: right}]\n",
            "left.yaml": "defaults: [{_base_: root}]\na: left\n",
            "right.yaml": "defaults: [{_base_: root}]\nb: right\n",
            "root.yaml": "a: root\nb: root\nc: root\n",
        },
    )

    assert composed(tmp_path).value == {"a": "left", "b": "right", "c": "root"}


def test_many_diamonds_on_one_another_are_read_in_no_time(tmp_path: Path) -> None:
    texts = {"b0.yaml": "n: 0\n"}
    for n in range(1, 20):
        texts[f"l{n}.yaml"] = f"defaults: [{{_base_: b{n - 1}}}]\n"
        texts[f"r{n}.yaml"] = f"defaults: [{{_base_: b{n - 1}}}]\n"
        texts[f"b{n}.yaml"] = f"defaults: [{{_base_: l{n}}}, {{_base_: r{n}}}]\nn: {n}\n"
    write(tmp_path, texts)

    assert composed(tmp_path, "b19.yaml").value == {"n": 19}


def test_a_circle_is_named_with_all_its_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": "defaults:\n  - {_base_: one}\n",
            "one.yaml": "a: 1\ndefaults:\n  - {_base_: two}\n",
            "two.yaml": "defaults: [{_base_: one}]\n",
        },
    )

    assert complaint(tmp_path) == (
        "two.yaml:1: defaults: this builds on itself: one.yaml → two.yaml → one.yaml"
    )


def test_a_missing_fragment_names_its_place_the_folders_and_a_near_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"main.nel.yaml": "defaults:\n  - services/vlm\n", "conf/services/vllm.yaml": "{}"},
    )

    with pytest.raises(ConfigError) as caught:
        compose(tmp_path / "main.nel.yaml", env={"HOME": "/home/me"})

    message = str(caught.value).replace(f"{tmp_path}/", "")
    assert message.startswith("main.nel.yaml:2: defaults: no file 'services/vlm'")
    assert "/home/me/.config/nemo-evaluator/conf" in message
    assert "Did you mean 'services/vllm'? Known: services/vllm" in message


def test_fragments_are_found_with_the_suite_then_the_base_then_the_user(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "here/main.nel.yaml": "defaults: [{_base_: ../team/base}, one, two, three]\n",
            "team/base.nel.yaml": "defaults: [of_team]\n",
            "team/conf/of_team.yaml": "team: true\n",
            "here/conf/one.yaml": "one: here\n",
            "user/nemo-evaluator/conf/one.yaml": "one: user\n",
            "user/nemo-evaluator/conf/two.yaml": "two: user\n",
            "home/.config/nemo-evaluator/conf/three.yaml": "three: home\n",
            "user/nemo-evaluator/conf/three.yaml": "three: user\n",
        },
    )
    suite = tmp_path / "here/main.nel.yaml"

    moved = compose(suite, env={"XDG_CONFIG_HOME": f"{tmp_path}/user", "HOME": "/none"}).value

    assert moved == {"team": True, "one": "here", "two": "user", "three": "user"}
    with pytest.raises(ConfigError, match="no file 'two'"):
        compose(suite, env={"HOME": f"{tmp_path}/home"})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("5", "expected a name such as services/local"),
        ("[a]", "got a list"),
        ("{_base_: a, x: 1}", "_base_ beside other keys"),
        ("''", "expected a name"),
        ("../team/base", "for a file elsewhere write {_base_: ../team/base}"),
        ("/etc/passwd", "for a file elsewhere write"),
        ("'services/${NAME}'", "is plain text"),
        ("_self_, _self_", "stands there twice"),
        ("plain, plain", "is already part of what stands before it"),
        ("words", "words.yaml:1: expected a mapping"),
        ("services/words", "words.yaml:1: expected a mapping"),
        ("broken", "broken.yaml:1: not valid YAML"),
        ("services/crosses", "a fragment of services builds on others of services alone"),
    ],
)
def test_what_no_entry_can_be_is_refused(tmp_path: Path, entry: str, said: str) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": f"defaults: [{entry}]\n",
            "conf/plain.yaml": "",
            "conf/words.yaml": "just words\n",
            "conf/services/words.yaml": "just words\n",
            "conf/broken.yaml": "a: ]\n",
            "conf/services/crosses.yaml": "defaults: [clusters/local]\n",
        },
    )

    assert said in complaint(tmp_path)


@pytest.mark.parametrize("defaults", ["services/a", "{a: 1}", "5"])
def test_defaults_are_a_list(tmp_path: Path, defaults: str) -> None:
    write(tmp_path, {"main.nel.yaml": f"defaults: {defaults}\n"})

    assert complaint(tmp_path).startswith("main.nel.yaml:1: defaults: expected a list of names")


def test_a_null_deletes_what_is_below_it_and_says_null_where_nothing_is(files: Path) -> None:
    (files / "main.nel.yaml").write_text(
        "defaults: [{_base_: base}]\n"
        "services: {m: {model: null, health_path: null}}\n"
        "output: {dir: null}\n"
        "benchmarks: [{name: gsm8k, shuffle_seed: null}]\n",
        encoding="utf-8",
    )

    value = composed(files).value

    assert "model" not in value["services"]["m"]
    assert value["services"]["m"]["health_path"] is None
    assert value["output"] == {"timestamped": False}
    assert value["benchmarks"] == [{"name": "gsm8k", "shuffle_seed": None}]


def test_a_file_without_defaults_keeps_its_nulls(tmp_path: Path) -> None:
    write(tmp_path, {"main.nel.yaml": "a: {b: null, c: 2}\nl: [1, null]\n"})

    assert composed(tmp_path).value == {"a": {"b": None, "c": 2}, "l": [1, None]}


def test_all_placeholders_that_are_left_are_listed_each_with_its_place(files: Path) -> None:
    (files / "base.yaml").write_text(
        "services:\n  m: {url: '???', model: '???'}\nbenchmarks:\n  - name: ???\n"
        "output:\n  dir: ???\n",
        encoding="utf-8",
    )

    lines = complaint(files, "main.nel.yaml", "output.dir=out").splitlines()

    assert [line.split(": ")[:2] for line in lines] == [
        ["base.yaml:2", "services.m.url"],
        ["base.yaml:4", "benchmarks[0].name"],
    ]
    assert "or override it" in lines[0]


def test_references_see_what_overrides_and_other_files_say(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": "defaults: [base]\n_port: 5000\n",
            "conf/base.yaml": "a: {port: '${._port}', url: 'http://h:${._port}/${KEY}'}\n",
        },
    )

    value = composed(tmp_path, "main.nel.yaml", "_port=6000").value

    assert value == {"a": {"port": 6000, "url": "http://h:6000/${KEY}"}}


def test_anchors_and_merge_keys_work_in_every_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": "defaults: [part]\nb: {x: 2}\n",
            "conf/part.yaml": "_d: &d {x: 1, y: 1}\na: *d\nb: {<<: *d, z: 1}\n",
        },
    )

    assert composed(tmp_path).value == {"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 1, "z": 1}}


def test_files_that_are_too_large_together_are_refused(tmp_path: Path) -> None:
    part = "{x: &x [" + "y, " * 300 + "y], z: [" + "*x, " * 200 + "*x]}\n"
    write(
        tmp_path,
        {
            "main.nel.yaml": "defaults: [one, two]\n",
            "conf/one.yaml": f"a: {part}",
            "conf/two.yaml": f"b: {part}",
        },
    )

    assert "too large" in complaint(tmp_path)


@pytest.mark.parametrize(
    ("line", "spelling"),
    [
        ("_base_: base.yaml", "defaults: [{_base_: base.yaml}]"),
        ("_base_: [a, b]", "defaults: [{_base_: FILE}]"),
        ("_self_: true", "defaults: [_self_]"),
    ],
)
def test_what_belongs_into_defaults_is_refused_beside_it(
    tmp_path: Path, line: str, spelling: str
) -> None:
    suite = tmp_path / "s.nel.yaml"
    suite.write_text(f"benchmarks: []\n{line}\n")

    with pytest.raises(ConfigError) as error:
        compose(suite)

    assert str(error.value).startswith(f"{suite}:2: ")
    assert f"write `{spelling}`" in str(error.value)


def test_a_base_cannot_be_named_by_an_override(tmp_path: Path) -> None:
    suite = tmp_path / "s.nel.yaml"
    suite.write_text("benchmarks: []\n")

    with pytest.raises(ConfigError, match=r"override _base_: .*\[\{_base_: base.yaml\}\]"):
        compose(suite, overrides=[read_override("_base_=base.yaml")])
