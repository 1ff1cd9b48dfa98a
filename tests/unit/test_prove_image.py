# SPDX-License-Identifier: Apache-2.0
"""What an image must hold, on trees with one piece missing or wrong each."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from suite import prove_image

WANTED = {"cuda": "10.0.130", "cudnn": "7.6.5.32", "import_name": "tensorflow"}
#: Of TensorFlow, and more than any other framework needs.
LIBRARIES = prove_image.LIBRARIES["tensorflow"]
ARCHIVES = {
    "cuda": "usr/local/cuda-10.0/lib64/libcudart.so.10.0.130",
    "cudnn": "usr/local/cuda-10.0/lib64/libcudnn.so.7.6.5",
    "ptxas": "usr/local/cuda-10.0/bin/ptxas",
    "libdevice": "usr/local/cuda-10.0/nvvm/libdevice/libdevice.10.bc",
    **{name: f"usr/local/cuda-10.0/lib64/lib{name}.so.10.0" for name in LIBRARIES},
}
SITE = "usr/local/lib/python3.12/site-packages"
WHEELS = {
    "cuda": f"{SITE}/nvidia_cuda_runtime_cu12-10.0.130.dist-info/METADATA",
    "cudnn": f"{SITE}/nvidia_cudnn_cu12-7.6.5.32.dist-info/METADATA",
    "ptxas": f"{SITE}/nvidia/cuda_nvcc/bin/ptxas",
    "libdevice": f"{SITE}/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
    **{name: f"{SITE}/nvidia/{name}/lib/lib{name}.so.12" for name in LIBRARIES},
}
#: From CUDA 13 on in one folder, most wheels without a version in their name; here with Triton's tools.
WHEELS_13 = {
    "cuda": f"{SITE}/nvidia_cuda_runtime-10.0.130.dist-info/METADATA",
    "cudnn": f"{SITE}/nvidia_cudnn_cu13-7.6.5.32.dist-info/METADATA",
    "ptxas": f"{SITE}/triton/backends/nvidia/bin/ptxas",
    "libdevice": f"{SITE}/triton/backends/nvidia/lib/libdevice.10.bc",
    **{name: f"{SITE}/nvidia/cu13/lib/lib{name}.so.13" for name in LIBRARIES},
}
#: Everything that is proven of CUDA.
PROVEN = ("cuda", "cudnn", "ptxas", "libdevice", "libraries")


def tree(root: Path, pieces: dict[str, str]) -> str:
    for path in pieces.values():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    return str(root)


def states(root: str, left_out: bool = False) -> dict[str, str]:
    return {name: state for name, (state, _) in prove_image.cuda_proofs(root, WANTED, left_out).items()}


@pytest.mark.parametrize("pieces", [ARCHIVES, WHEELS, WHEELS_13], ids=["archives", "wheels", "wheels-13"])
def test_a_whole_image_is_proven(tmp_path, pieces):
    """Fault: a proof that turns honest images away."""
    assert states(tree(tmp_path, pieces)) == dict.fromkeys(PROVEN, "ok")


@pytest.mark.parametrize("pieces", [ARCHIVES, WHEELS, WHEELS_13], ids=["archives", "wheels", "wheels-13"])
@pytest.mark.parametrize("missing", ["cuda", "cudnn", "ptxas", "libdevice"])
def test_one_missing_piece_fails(tmp_path, pieces, missing):
    """Fault: an image without ptxas measures CPU well and XLA_GPU never."""
    root = tree(tmp_path, {name: path for name, path in pieces.items() if name != missing})
    found = states(root)
    assert found.pop(missing) == "failed" and set(found.values()) == {"ok"}


@pytest.mark.parametrize("pieces", [ARCHIVES, WHEELS, WHEELS_13], ids=["archives", "wheels", "wheels-13"])
@pytest.mark.parametrize("missing", LIBRARIES)
def test_one_missing_library_fails(tmp_path, pieces, missing):
    """Fault: an archive that is laid out in another way leaves cuBLAS out, and TensorFlow silently takes the CPU."""
    root = tree(tmp_path, {name: path for name, path in pieces.items() if name != missing})
    found = prove_image.cuda_proofs(root, WANTED, left_out=False)
    assert found.pop("libraries") == ("failed", f"no library in the image of {missing}")
    assert {state for state, _ in found.values()} == {"ok"}


@pytest.mark.parametrize("framework", sorted(prove_image.LIBRARIES))
def test_a_framework_s_image_holds_the_libraries_that_this_framework_loads(tmp_path, framework):
    """Fault: JAX's image, whose lock has no cuRAND because JAX needs none, was turned away after each build of it."""
    needed = {"jax": set(LIBRARIES) - {"curand"}}.get(framework, set(LIBRARIES))
    assert set(prove_image.LIBRARIES[framework]) == needed
    for missing in ("", *LIBRARIES):
        root = tree(tmp_path / f"x{missing}", {name: path for name, path in WHEELS_13.items() if name != missing})
        state, text = prove_image.cuda_proofs(root, {**WANTED, "import_name": framework}, left_out=False)[
            "libraries"
        ]
        expected = ("failed", f"no library in the image of {missing}") if missing in needed else ("ok", text)
        assert (state, text) == expected


def test_what_a_proof_looks_for_is_in_the_lock_where_cuda_comes_as_wheels():
    """Fault: a library that no wheel of the lock brings, or a new framework without a list: seen after the build."""
    from suite.stack import STACKS

    for path in STACKS.glob("*/stack.toml"):
        names = prove_image.LIBRARIES[prove_image.expected(path.read_text(encoding="utf-8"))["import_name"]]
        locks = [*path.parent.glob("requirements-cuda-py*.lock")] or (
            [*path.parent.glob("requirements-py*.lock")] if "cuda_included = true" in path.read_text() else []
        )
        for lock in locks:
            pins = lock.read_text(encoding="utf-8")
            assert [name for name in names if f"\nnvidia-{name}" not in pins] == [], lock


@pytest.mark.parametrize(
    ("piece", "path"),
    [
        ("cuda", "usr/local/cuda-10.0/lib64/libcudart.so.10.1.243"),
        ("cudnn", "usr/local/cuda-10.0/lib64/libcudnn.so.7.4.2"),
    ],
)
def test_another_version_fails(tmp_path, piece, path):
    """Fault: cuDNN 7.4, which TensorFlow 1.14 also runs with, under the name of 7.6."""
    assert states(tree(tmp_path, {**ARCHIVES, piece: path}))[piece] == "failed"


def test_cuda_that_was_left_out_is_not_proven_and_must_not_be_there(tmp_path):
    """Fault: an image without CUDA reads as proven, or one with CUDA as stand-in."""
    empty = tmp_path / "empty"
    empty.mkdir()
    assert set(states(str(empty), left_out=True).values()) == {"not_proven"}
    assert states(tree(tmp_path / "full", ARCHIVES), left_out=True)["ptxas"] == "failed"


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    """What stands in for a framework needs what TensorFlow does."""
    for name in ("json", "no_such_module_x"):
        monkeypatch.setitem(prove_image.LIBRARIES, name, LIBRARIES)


def definition(folder: Path, version: str, module: str = "json") -> Path:
    path = folder / "stack.toml"
    path.write_text(
        f'name = "x"\n[framework]\npackage = "x"\nversion = "{version}"\nimport_name = "{module}"\n'
        '[cuda]\nbuilt_with = { cuda = "10.0", cudnn = "7.4" }\nships = { cuda = "10.0.130", cudnn = "7.6.5.32" }\n'
    )
    return path


@pytest.mark.parametrize(
    ("version", "code", "says"), [("2.0.9", 0, "was imported"), ("1.2", 1, "stack.toml says 1.2")]
)
def test_the_framework_is_imported_and_has_its_version(tmp_path, capsys, version, code, says):
    """Fault: an image whose framework is another one, or does not import."""
    root = tree(tmp_path / "root", ARCHIVES)
    out = tmp_path / "proof.json"
    assert prove_image.main(str(definition(tmp_path, version)), "sealed", str(out), root) == code
    assert says in json.loads(out.read_text())["framework"][1]


def test_a_framework_that_cannot_be_imported_fails(tmp_path):
    """Fault: the build ends well and every run fails."""
    out = tmp_path / "proof.json"
    root = tree(tmp_path / "root", ARCHIVES)
    assert prove_image.main(str(definition(tmp_path, "1", "no_such_module_x")), "sealed", str(out), root) == 1
    assert "No module named" in json.loads(out.read_text())["framework"][1]


def test_it_reads_the_real_definitions():
    """Fault: a field that moved, which only a build of an hour would show."""
    from suite.stack import STACKS

    for path in STACKS.glob("*/stack.toml"):
        found = prove_image.expected(path.read_text(encoding="utf-8"))
        assert found["import_name"] in ("tensorflow", "jax", "torch") and all(found.values())
    assert shutil.which(sys.executable)
