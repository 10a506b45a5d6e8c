"""One file in all of its names: no spelling of a file may look like another file."""

from __future__ import annotations

import os
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.closed_folders import closed, open_folder

from neve.model.errors import TableUnreadable
from neve.storage.resolved import Resolver, Sought

pytestmark = pytest.mark.promise(16, 22)


@pytest.fixture
def folder(tmp_path):
    """A real folder with a file, a link to the folder, and links to the file."""
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "f.parquet").write_text("x")
    (tmp_path / "real" / "other.parquet").write_text("y")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "loop").symlink_to(tmp_path / "real")
    (tmp_path / "alias.parquet").symlink_to(tmp_path / "link" / "f.parquet")
    (tmp_path / "deeplink").symlink_to(tmp_path / "real" / "deep")
    return tmp_path


SPELLINGS = (
    "file:{0}/real/f.parquet",
    "file://{0}/real/f.parquet",
    "FILE://localhost{0}/real/f.parquet",
    "file://127.0.0.1{0}/real/f.parquet",
    "{0}/real/f.parquet",
    "file:{0}//real///f.parquet",
    "file:{0}/./real/./f.parquet",
    "file:{0}/x/../real/f.parquet",
    "file:{0}/real/deep/../f.parquet",
    "file:{0}/real/%66.parquet",
    "file:{0}/real/F.PARQUET",
    "file:{0}/link/f.parquet",
    "file:{0}/link/loop/loop/f.parquet",
    "file:{0}/link/deep/..//f.parquet",
    "file:{0}/l%69nk/f.parquet",
    # The kernel goes through the link first, and then up.
    "file:{0}/deeplink/../f.parquet",
    "file:{0}/alias.parquet",
)


@pytest.mark.parametrize("one", SPELLINGS)
@pytest.mark.parametrize("other", ["file:{0}/real/f.parquet", "file:{0}/link/f.parquet"])
def test_names_of_one_local_file_meet_in_both_directions(folder, one, other):
    one, other = one.format(folder), other.format(folder)
    assert Sought([one]).named_by([other]) == {one}
    assert Sought([other]).named_by([one]) == {other}


RELATIVE = (
    "real/f.parquet",
    "./real/f.parquet",
    "file:real/f.parquet",
    "FILE:link/f.parquet",
    "real/deep/../f.parquet",
    "deeplink/../f.parquet",
    "link//%66.parquet",
    "alias.parquet",
)


@pytest.mark.parametrize("relative", RELATIVE)
def test_relative_names_begin_where_the_process_works(folder, relative, monkeypatch):
    """pyiceberg and Hadoop both take them so."""
    monkeypatch.chdir(folder)
    file = f"file:{folder}/real/f.parquet"
    assert Sought([file]).named_by([relative]) == {file}
    assert Sought([relative]).named_by([file]) == {relative}


@pytest.mark.parametrize("relative", ["f.parquet", "elsewhere/F.parquet", "file:../x/%66.parquet"])
def test_relative_names_of_a_process_that_worked_elsewhere_keep_what_is_called_so(folder, relative):
    file, other = f"file:{folder}/real/f.parquet", f"file:{folder}/real/other.parquet"
    assert Sought([file, other, "s3://b/f.parquet"]).named_by([relative]) == {
        file,
        "s3://b/f.parquet",
    }


@pytest.mark.parametrize("end", ["?versionId=1", "#part", "?", "#a?b"])
def test_a_name_that_some_clients_cut_off_is_both(folder, end):
    file = f"file:{folder}/real/f.parquet"
    assert Sought([file]).named_by([file + end]) == {file}
    assert Sought(["s3://b/k", "s3://b/k2"]).named_by([f"s3a://b/k{end}"]) == {"s3://b/k"}


def test_other_files_do_not_meet(folder):
    file = f"file:{folder}/real/f.parquet"
    others = [f"file:{folder}/{name}" for name in ("real/other.parquet", "f.parquet", "real/f")]
    assert Sought([file]).named_by(others) == set()
    assert Sought([file]).named_by(["s3://b" + f"{folder}/real/f.parquet"]) == set()


def test_a_file_under_two_numbers_of_names_is_one(folder):
    os.link(folder / "real" / "f.parquet", folder / "hard.parquet")
    hard = f"file:{folder}/hard.parquet"
    assert Sought([hard]).named_by([f"file:{folder}/link/f.parquet"]) == {hard}


def test_names_count_where_no_file_is(folder):
    gone = f"file:{folder}/real/gone.parquet"
    assert Sought([gone]).named_by([f"file:{folder}/link/gone.parquet"]) == {gone}


def test_loops_and_names_that_are_no_text_do_no_harm(folder):
    (folder / "round").symlink_to(folder / "round")
    names = [f"file:{folder}/round/f", "file:/a\udcff/b", "file:/a\0b/c", "file:/\ud800", "", "/"]
    assert Sought(names).named_by(names) == set(names)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://bucket/a/f", "s3a://bucket/a//f"),
        ("s3n://Bucket/a/f", "S3://key:secret@bucket:443/a/./f"),
        ("hdfs://nn/a/f", "hdfs://NN:8020/a/f"),
        ("hdfs://nn/a/f", "hdfs:///a/x/../f"),
        ("abfss://c@account.dfs.core.windows.net/a", "wasbs://c@ACCOUNT.blob.core.windows.net/a"),
        ("gs://b/caf\u00e9", "gs://b/cafe\u0301"),
        ("s3://b/a%20b", "s3://b/a b"),
        ("s3://b/A", "s3://b/a"),
        ("file://one/a", "file:/a"),
        # Without a scheme it is of the default file system.
        ("/a/f", "hdfs://nn:8020/a/f"),
        ("cosn://b/k", "cos://b/k"),
    ],
)
def test_names_of_one_object_meet(one, other):
    assert Resolver().keys(one) & Resolver().keys(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("s3://a/k", "s3://b/k"), ("s3://b/t/k", "s3://b/t2/k"), ("gs://b/k", "s3://b/k")],
)
def test_other_buckets_and_keys_do_not_meet(one, other):
    assert not Resolver().keys(one) & Resolver().keys(other)


NAMES = st.text("abé .%+=ß", min_size=1, max_size=6).filter(lambda t: t.strip(".") == t)


@st.composite
def respelled(draw, parts):
    """The same path, written in another way."""
    scheme = draw(st.sampled_from(["", "file:", "file://", "FILE:", "file://localhost"]))
    written = []
    for part in parts:
        how = draw(st.sampled_from(["plain", "escaped", "decomposed", "upper"]))
        text = {
            "plain": part,
            "escaped": quote(part),
            "decomposed": unicodedata.normalize("NFD", part),
            "upper": part.swapcase(),
        }[how]
        step = draw(st.sampled_from(["", "/", "./", "away/../"]))
        written.append(step + text)
    return scheme + "/" + "/".join(written)


@given(st.data())
def test_however_a_path_is_written_it_is_the_same_file(data):
    parts = data.draw(st.lists(NAMES, min_size=2, max_size=4))
    one, other = data.draw(respelled(parts)), data.draw(respelled(parts))
    assert Sought([one]).named_by([other]) == {one}


@given(st.data())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_walk_over_links_and_dots_makes_another_file_of_it(folder, data):
    """Steps that lead back to where they began, as the kernel takes them."""
    steps = data.draw(
        st.lists(
            st.sampled_from(["loop", "deep/..", ".", "", "loop/deep/..", "../real", "../link"]),
            max_size=4,
        )
    )
    start = data.draw(st.sampled_from(["real", "link"]))
    name = f"file:{folder}/{'/'.join([start, *steps])}/f.parquet"
    assert os.path.samefile(name.removeprefix("file:"), folder / "real" / "f.parquet")
    file = f"file:{folder}/real/f.parquet"
    assert Sought([file]).named_by([name]) == {file}
    assert Sought([name]).named_by([file]) == {name}


def test_folders_that_are_looked_at_once_are_the_real_ones(folder):
    """One resolver for many names finds what the system finds for each."""
    (folder / "real" / "deep" / "up").symlink_to("../..")
    (folder / "gone").symlink_to(folder / "nowhere")
    (folder / "round").symlink_to(folder / "round")
    deep = "/".join(["d"] * 120)
    folders = ["real", "link", "link/deep", "deeplink", "deeplink/up/link", "link/loop/deep/up"]
    folders += ["gone", "gone/deeper", "round", "round/deeper", "none", "none/at/all", deep]
    resolver = Resolver()
    for name in [*folders, *reversed(folders)]:
        path = f"{folder}/{name}/f.parquet"
        real = f"{os.path.realpath(os.path.dirname(path))}/f.parquet"
        expected = set() if real == path else {f"file:{real}"}
        assert resolver.real_names(f"file:{path}") == expected
        assert resolver.keys(f"file:{path}") == Resolver().keys(f"file:{path}")


@pytest.mark.parametrize("name", ["alias/f.parquet", "alias/%66.parquet", "f.parquet", "d/g"])
def test_a_name_at_which_this_process_may_not_look_is_an_error(name):
    """It may be a link to the very file, and who may look reads it by that name."""
    with open_folder() as folder:
        (folder / "real").mkdir()
        (folder / "real" / "f.parquet").write_text("x")
        (folder / "closed").mkdir()
        (folder / "closed" / "alias").symlink_to(folder / "real")
        file, theirs = f"file:{folder}/real/f.parquet", f"file:{folder}/closed/{name}"
        with closed(folder / "closed"):
            with pytest.raises(TableUnreadable, match="cannot be told here: Permission denied"):
                Sought([file]).named_by([theirs])
            assert Sought([file]).named_by([f"file:{folder}/nowhere/{name}"]) == set()
        assert (Sought([file]).named_by([theirs]) == {file}) is name.startswith("alias")
