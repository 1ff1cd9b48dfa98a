# SPDX-License-Identifier: Apache-2.0
"""Fetch CUDA 11.2 and cuDNN 8.1 by checksum and keep what TensorFlow needs when it runs. No packages.

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
    "https://developer.download.nvidia.com/compute/cuda/11.2.2/local_installers/cuda_11.2.2_460.32.03_linux.run",
    "0a2e477224af7f6003b49edfd2bfee07667a8148fe3627cfd2765f6ad72fa19d",
)
CUDNN = (
    "https://developer.download.nvidia.com/compute/redist/cudnn/v8.1.1/cudnn-11.2-linux-x64-v8.1.1.33.tgz",
    "98a8784e92862f20018d20c281b30d4a0cd951f93694f6433ccf4ae9c502ba6a",
)
#: What is loaded when a model runs. XLA calls ptxas and reads libdevice.
KEPT = (
    "lib64/libcudart.so*",
    "lib64/libcublas.so*",
    "lib64/libcublasLt.so*",
    "lib64/libcufft.so*",
    "lib64/libcurand.so*",
    "lib64/libcusolver.so*",
    "lib64/libcusparse.so*",
    "lib64/libcudnn*.so*",
    "extras/CUPTI/lib64/libcupti.so*",
    "bin/ptxas",
    "bin/fatbinary",
    "bin/nvlink",
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
        unpacked = os.path.join(scratch, "toolkit")
        # Unpacked, not installed: the installer inside wants libraries that this image has no other use for.
        subprocess.check_call(["sh", toolkit, "--noexec", "--target", unpacked], stdout=subprocess.DEVNULL)
        # The archive holds one folder, cuda/, in which lib64/ has the libraries.
        subprocess.check_call(["tar", "-xzf", cudnn, "-C", scratch])
        # Each library of the toolkit has a folder of its own.
        for folder in sorted(glob.glob(os.path.join(unpacked, "builds", "*"))) + [os.path.join(scratch, "cuda")]:
            keep(folder, target)
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
