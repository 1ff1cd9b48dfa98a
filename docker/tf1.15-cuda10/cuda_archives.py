# SPDX-License-Identifier: Apache-2.0
"""Fetch CUDA 10.0 and cuDNN 7.6 by checksum and keep what TensorFlow needs when it runs. Python 3.6, no packages.

    cuda_archives.py sealed|none FOLDER

``none`` makes an empty folder. The addresses are only where the files are looked for: the sums decide. Others can be
given as CUDA_ARCHIVES=http://mirror/cuda.run,http://mirror/cudnn.tgz .
"""

import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request

TOOLKIT = (
    "https://developer.nvidia.com/compute/cuda/10.0/Prod/local_installers/cuda_10.0.130_410.48_linux",
    "92351f0e4346694d0fcb4ea1539856c9eb82060c25654463bfd8574ec35ee39a",
)
CUDNN = (
    "https://developer.download.nvidia.com/compute/redist/cudnn/v7.6.5/cudnn-10.0-linux-x64-v7.6.5.32.tgz",
    "28355e395f0b2b93ac2c83b61360b35ba6cd0377e44e78be197b6b61b4b492ba",
)
#: What is loaded when a model runs. XLA calls ptxas and reads libdevice.
KEPT = (
    "lib64/libcudart.so*",
    "lib64/libcublas.so*",
    "lib64/libcufft.so*",
    "lib64/libcurand.so*",
    "lib64/libcusolver.so*",
    "lib64/libcusparse.so*",
    "lib64/libcudnn.so*",
    "extras/CUPTI/lib64/libcupti.so*",
    "bin/ptxas",
    "nvvm/libdevice/*.bc",
    "version.txt",
)


def main(archives, target):
    """Fill ``target``; return the exit code."""
    os.makedirs(target)
    if archives == "none":
        return 0
    addresses = [TOOLKIT[0], CUDNN[0]] if archives == "sealed" else archives.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        toolkit, cudnn = os.path.join(scratch, "toolkit.run"), os.path.join(scratch, "cudnn.tgz")
        for address, (_, wanted), path in zip(addresses, (TOOLKIT, CUDNN), (toolkit, cudnn)):
            problem = fetch(address, wanted, path)
            if problem:
                sys.stderr.write("cuda_archives: %s\n" % problem)
                return 1
        unpacked = os.path.join(scratch, "cuda")
        subprocess.check_call(
            [
                "sh",
                toolkit,
                "--silent",
                "--toolkit",
                "--toolkitpath=" + unpacked,
                "--override",
                "--tmpdir=" + scratch,
            ]
        )
        # The archive holds one folder, cuda/, in which lib64/ has the libraries.
        subprocess.check_call(["tar", "-xzf", cudnn, "-C", scratch])
        keep(unpacked, target)
    return 0


def fetch(address, wanted, path):
    """Fetch one file and check its sha256; return what is wrong, "" where nothing is."""
    sum_ = hashlib.sha256()
    try:
        with urllib.request.urlopen(address, timeout=60) as answer, open(path, "wb") as file:
            for block in iter(lambda: answer.read(1 << 20), b""):
                sum_.update(block)
                file.write(block)
    except OSError as error:
        return "%s cannot be fetched: %s" % (address, error)
    if sum_.hexdigest() != wanted:
        return "%s has the wrong checksum: sha256 %s, expected %s" % (address, sum_.hexdigest(), wanted)
    return ""


def keep(source, target):
    """Copy the files of KEPT, links as links."""
    for pattern in KEPT:
        for path in sorted(glob.glob(os.path.join(source, pattern))):
            to = os.path.join(target, os.path.relpath(path, source))
            if not os.path.isdir(os.path.dirname(to)):
                os.makedirs(os.path.dirname(to))
            shutil.copy2(path, to, follow_symlinks=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
