# SPDX-License-Identifier: Apache-2.0
"""Prove what an image holds, while it is built: versions against stack.toml, CUDA's pieces, an import.

    prove_image.py STACK.toml CUDA PROOF.json [ROOT]

Runs in the image with the stack's own Python (3.6 syntax, no packages). ``CUDA`` is "none" where the build was told to
leave CUDA out: its proofs then read ``not_proven``. Any proof that fails fails the build. Each stack's folder holds a
copy of this file, because a build sees nothing outside its folder; `nox -s lock` writes the copies.
"""

import glob
import json
import os
import re
import subprocess
import sys

#: Libraries of CUDA that a framework loads before it offers a GPU: without one of them TensorFlow silently offers none,
#: and PyTorch is not imported. JAX makes its random numbers itself: its plugin neither loads cuRAND nor asks for it.
LIBRARIES = {
    "tensorflow": ("cublas", "cufft", "curand", "cusolver", "cusparse"),
    "torch": ("cublas", "cufft", "curand", "cusolver", "cusparse"),
    "jax": ("cublas", "cufft", "cusolver", "cusparse"),
}


def main(definition, cuda, out, root="/"):
    """Write every proof to ``out``; return 1 where one failed."""
    with open(definition, "r", encoding="utf-8") as file:
        wanted = expected(file.read())
    proofs = {"framework": framework(wanted)}
    proofs.update(cuda_proofs(root, wanted, cuda == "none"))
    with open(out, "w", encoding="utf-8") as file:
        json.dump(proofs, file, indent=1, sort_keys=True)
        file.write("\n")
    for name, (state, text) in sorted(proofs.items()):
        print("%-10s %s: %s" % (state, name, text))
    return 1 if any(state == "failed" for state, _ in proofs.values()) else 0


def expected(text):
    """Return what stack.toml says, of what is proven here. It is TOML, which Python 3.6 cannot read."""
    ships = re.search(r'^ships = \{ cuda = "([\d.]+)", cudnn = "([\d.]+)" \}', text, re.MULTILINE)
    table = text[text.index("[framework]") :]
    fields = dict(re.findall(r'^(version|import_name) = "([^"]+)"', table, re.MULTILINE)[:2])
    return {
        "version": fields["version"],
        "import_name": fields["import_name"],
        "cuda": ships.group(1),
        "cudnn": ships.group(2),
    }


def framework(wanted):
    """Import the framework in a process of its own, as a worker will."""
    code = "import %s as f; print(f.__version__)" % wanted["import_name"]
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    said, error = process.communicate()
    if process.returncode != 0:
        return "failed", "cannot be imported: " + error.decode("utf-8", "replace").strip()[-600:]
    version = said.decode("utf-8").strip().splitlines()[-1]
    if version.partition("+")[0] != wanted["version"]:
        return "failed", "is %s, stack.toml says %s" % (version, wanted["version"])
    return "ok", "%s %s was imported" % (wanted["import_name"], version)


def cuda_proofs(root, wanted, left_out):
    """Return the proofs of CUDA's pieces below ``root``, from the files' own names and version records."""
    pieces = {
        # From CUDA 13 on most of its wheels have no version in their name.
        "cuda": _version(root, ("usr/local/cuda*/lib64/libcudart.so.*",), "nvidia_cuda_runtime*"),
        "cudnn": _version(root, ("usr/local/cuda*/lib64/libcudnn.so.*",), "nvidia_cudnn_cu*"),
    }
    files = {
        "ptxas": ("usr/local/cuda*/bin/ptxas", "bin/ptxas"),
        "libdevice": ("usr/local/cuda*/nvvm/libdevice/libdevice*.bc", "nvvm/libdevice/libdevice*.bc"),
    }
    # Wheels of CUDA 12, of CUDA 13, and what Triton brings along.
    folders = ("nvidia/cuda_nvcc", "nvidia/cu1*", "triton/backends/nvidia")
    out = {}
    for name, found in pieces.items():
        if found is None:
            out[name] = "failed", "no library of it in the image"
        elif not _agrees(found, wanted[name]):
            out[name] = "failed", "is %s, stack.toml says %s" % (found, wanted[name])
        else:
            out[name] = "ok", found
    for name, (system, wheel) in files.items():
        there = glob.glob(os.path.join(root, system)) + [
            path
            for packages in _packages(root)
            for folder in folders
            for below in (wheel, wheel.replace("nvvm/libdevice", "lib"))
            for path in glob.glob(os.path.join(packages, folder, below))
        ]
        out[name] = ("ok", there[0]) if there else ("failed", "is not in the image")
    out["libraries"] = _libraries(root, LIBRARIES[wanted["import_name"]])
    if left_out:
        present = [name for name, (state, _) in out.items() if state == "ok"]
        if present:
            return dict.fromkeys(present, ("failed", "was to be left out and is there"))
        return dict.fromkeys(out, ("not_proven", "the build was told to leave CUDA out"))
    return out


def _libraries(root, names):
    missing = []
    for name in names:
        places = [os.path.join(root, "usr/local/cuda*/lib64")]
        places += [folder + "/nvidia/*/lib" for folder in _packages(root)]
        if not any(glob.glob("%s/lib%s.so.*" % (place, name)) for place in places):
            missing.append(name)
    if missing:
        return "failed", "no library in the image of %s" % ", ".join(missing)
    return "ok", ", ".join(names)


def _packages(root):
    patterns = ("usr/local/lib/python3*/site-packages", "usr/local/lib/python3*/dist-packages")
    return [path for pattern in patterns for path in glob.glob(os.path.join(root, pattern))]


def _version(root, patterns, package):
    """Return the most precise version that a library's file name or a wheel's record tells."""
    found = []
    for pattern in patterns:
        for path in glob.glob(os.path.join(root, pattern)):
            match = re.search(r"\.so\.([\d.]+)$", path)
            if match:
                found.append(match.group(1))
    for folder in _packages(root):
        for path in glob.glob(os.path.join(folder, package + "-*.dist-info")):
            found.append(os.path.basename(path)[: -len(".dist-info")].split("-", 1)[1])
    return max(found, key=len) if found else None


def _agrees(found, wanted):
    """Compare the parts that both have: a file is named 7.6.5 where the archive is 7.6.5.32."""
    ours, theirs = found.split("."), wanted.split(".")
    parts = min(len(ours), len(theirs))
    return parts >= 2 and ours[:parts] == theirs[:parts]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
