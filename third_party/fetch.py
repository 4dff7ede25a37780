#!/usr/bin/env python3
"""Download the pinned libtorch and unpack the part of it that Aperture uses.

    fetch.py FOLDER [cuda]

The packages are those of requirements.txt, and with cuda those of requirements-cuda.txt, on the index that pip is
configured with; each file is pinned by its digest. What is used of them without CUDA, a quarter, is read by HTTP ranges
(ranges.py); where that does not go, and with CUDA, pip downloads whole packages.

The libraries go to FOLDER/lib, the headers to FOLDER/include, with cuda those of CUDA and NCCL to FOLDER/include/nvidia.
Each of these folders appears when it is whole; the headers come first, so that compiling can begin. FOLDER/SHA256SUMS and a
list of sizes, FOLDER/files, which comes last, let build.sh notice a damaged copy later. Needs Python 3.7 or newer and pip,
and no other package.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile

import ranges

# The wheel of one Python version and one platform is one file with one digest, whatever Python runs
# pip; pip takes these tags literally, so the older names that the smaller packages carry stand here too.
TAGS = [
    "--only-binary=:all:", "--python-version=3.11", "--implementation=cp", "--abi=cp311",
    "--platform=manylinux_2_28_x86_64", "--platform=manylinux_2_27_x86_64", "--platform=manylinux_2_25_x86_64",
    "--platform=manylinux_2_18_x86_64", "--platform=manylinux_2_17_x86_64", "--platform=manylinux2014_x86_64",
    "--platform=manylinux2010_x86_64", "--platform=manylinux1_x86_64",
]
LIBRARIES = {"libtorch_cpu.so", "libc10.so", "libcudart.so.13", "libcupti.so.13"}
# libtorch's side of CUDA, what it links, and what these load by name when they first need it. They find each other: each
# looks beside itself.
CUDA_LIBRARIES = {
    "libtorch_cuda.so", "libtorch_cuda_linalg.so", "libtorch_nvshmem.so", "libc10_cuda.so", "libcaffe2_nvrtc.so",
    "libcublas.so.13", "libcublasLt.so.13", "libcufft.so.12", "libcufile.so.0", "libcurand.so.10", "libcusolver.so.12",
    "libcusparse.so.12", "libcusparseLt.so.0", "libnccl.so.2", "libnvJitLink.so.13", "libnvshmem_host.so.3",
    "libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "libcudnn.so.9", "libcudnn_adv.so.9", "libcudnn_cnn.so.9",
    "libcudnn_engines_precompiled.so.9", "libcudnn_engines_runtime_compiled.so.9", "libcudnn_graph.so.9",
    "libcudnn_heuristic.so.9", "libcudnn_ops.so.9",
}
# What ProcessGroupNCCL.hpp includes lies there. The templates in cu13/include/cccl are for kernels, and are left out.
CUDA_HEADERS = ("nvidia/cu13/include/", "nvidia/nccl/include/")
# Measured: the wheels (545 MB), pip's own copy of the largest while it works, and what is unpacked (520 MB), the most that is
# needed where ranges fail; with CUDA 2.5 GB of wheels and 3.6 GB unpacked.
NEEDED_BYTES = 2_000_000_000
CUDA_NEEDED_BYTES = 7_500_000_000


def say(sentence):
    print("build: " + sentence, file=sys.stderr, flush=True)


def stop(sentence):
    sys.exit("build: " + sentence)


def place(name, libraries):
    """Where in FOLDER a member of a wheel goes, or None for one that is not used."""
    base = name.rsplit("/", 1)[-1]
    if name.endswith("/"):
        return None
    if name.startswith("torch/include/"):
        return name[len("torch/"):]
    if name.startswith(CUDA_HEADERS) and "/include/cccl/" not in name and libraries >= CUDA_LIBRARIES:
        return "include/nvidia/" + name.split("/include/", 1)[1]
    if "/lib/" in name and (base in libraries or base.startswith("libgomp")):
        return "lib/" + base
    if ".dist-info/" in name and base.upper().startswith(("LICENSE", "NOTICE")):
        return "licenses/" + name.split("-", 1)[0] + "-" + base
    return None


def unpack(wheel, folder, libraries):
    """Stream the used members of a wheel to folder; zipfile checks each one's CRC on the way."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            to = place(member.filename, libraries)
            if to is None:
                continue
            path = os.path.join(folder, to)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with archive.open(member) as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)


def download(requirements, folder):
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run(pip + ["--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        stop("Python's pip is missing, which downloads libtorch: install it, "
             "for example with `sudo apt-get install python3-pip`, and run ./build.sh again.")
    command = pip + ["download", "--no-deps", "--require-hashes", "--no-cache-dir", "--disable-pip-version-check",
                     "--dest", folder] + TAGS
    for path in requirements:
        command += ["--requirement", path]
    quiet = not sys.stderr.isatty()
    # pip keeps the file it is receiving in TMPDIR, which may be a small memory disk elsewhere.
    result = subprocess.run(command + (["--quiet"] if quiet else []), stdout=sys.stderr,
                            env=dict(os.environ, TMPDIR=folder))
    if result.returncode:
        stop("pip could not download libtorch (its message stands above): check the network or the proxy, or set "
             "LIBTORCH to a folder that holds libtorch 2.11.0, and run ./build.sh again.")
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".whl"))


def pins(path):
    """(name, version, digest of the file, digest of its RECORD) of the packages in a file of requirements."""
    text = open(path).read()
    records = dict(re.findall(r"^# RECORD of (\S+): sha256:(\w{64})$", text, re.M))
    return [(name, version, digest, records[name])
            for name, version, digest in re.findall(r"^(\S+)==(\S+) --hash=sha256:(\w{64})$", text, re.M)]


def unpack_parts(requirements, libraries, work, target):
    """By ranges: the headers first, then the libraries and licences."""
    wheels = [ranges.Wheel(*pin, TAGS) for pin in pins(requirements)]

    def only(headers):
        def choose(name):
            to = place(name, libraries)
            # build.sh asks for the name of libgomp before it compiles.
            return to if to and to.startswith(("include/", "lib/libgomp")) == headers else None
        return choose

    for wheel in wheels:
        wheel.unpack(only(True), work)
    if not os.path.isdir(os.path.join(work, "lib")) or not os.path.isdir(os.path.join(work, "include")):
        raise ranges.Damaged("they lack libgomp or the headers")
    publish_first(work, target)
    for wheel in wheels:
        wheel.unpack(only(False), work)
    return sum(wheel.received for wheel in wheels)


def unpack_whole(requirements, libraries, work, target):
    wheels = os.path.join(work, "wheels")
    os.makedirs(wheels)
    received = 0
    for wheel in download(requirements, wheels):
        received += os.path.getsize(wheel)
        unpack(wheel, work, libraries)
        os.remove(wheel)
    os.rmdir(wheels)
    publish_first(work, target)
    return received


def publish_first(work, target):
    """Moves libgomp and then the headers, by which build.sh knows that it can begin."""
    os.makedirs(os.path.join(target, "lib"))
    for name in os.listdir(os.path.join(work, "lib")):
        if name.startswith("libgomp"):
            os.rename(os.path.join(work, "lib", name), os.path.join(target, "lib", name))
    os.rename(os.path.join(work, "include"), os.path.join(target, "include"))


def publish(work, target):
    """Moves the rest to target, with lists of digests and of sizes."""
    for name in os.listdir(os.path.join(work, "lib")):
        os.rename(os.path.join(work, "lib", name), os.path.join(target, "lib", name))
    folder = os.path.join(target, "lib")
    digests, sizes = "", ""
    for name in sorted(os.listdir(folder)):
        path, digest = os.path.join(folder, name), hashlib.sha256()
        with open(path, "rb") as library:
            for chunk in iter(lambda: library.read(1 << 20), b""):
                digest.update(chunk)
        digests += "%s  lib/%s\n" % (digest.hexdigest(), name)
        sizes += "%d %s\n" % (os.path.getsize(path), name)
    for name, text in ("SHA256SUMS", digests), ("files", sizes):
        with open(os.path.join(work, name), "w") as listed:
            listed.write(text)
    for name in "licenses", "SHA256SUMS", "files":
        os.rename(os.path.join(work, name), os.path.join(target, name))


def main():
    # Ended from outside, it still removes what it has written so far. A shell lets what runs beside it ignore the first.
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    target = os.path.abspath(sys.argv[1])
    parent = os.path.dirname(target)
    here = os.path.dirname(os.path.abspath(__file__))
    requirements, libraries, needed = [os.path.join(here, "requirements.txt")], LIBRARIES, NEEDED_BYTES
    if sys.argv[2:] == ["cuda"]:
        requirements.append(os.path.join(here, "requirements-cuda.txt"))
        libraries, needed = LIBRARIES | CUDA_LIBRARIES, CUDA_NEEDED_BYTES
    try:
        os.makedirs(parent, exist_ok=True)
        free = shutil.disk_usage(parent).free
        if free < needed:
            stop("downloading libtorch needs %.1f GB of disk in %s, which has %.1f GB free: free some space, "
                 "or set XDG_CACHE_HOME to a folder on a larger disk." % (needed / 1e9, parent, free / 1e9))
        work = tempfile.mkdtemp(prefix=os.path.basename(target) + ".tmp-", dir=parent)
    except OSError as error:
        stop("cannot write the cache of libtorch (%s): make it writable, or set XDG_CACHE_HOME to another folder."
             % error)
    try:
        shutil.rmtree(target, ignore_errors=True)
        try:
            if len(requirements) > 1:
                raise ranges.Unsupported("the libraries for a GPU need nearly all of them")
            received = unpack_parts(requirements[0], libraries, work, target)
        except (ranges.Unsupported, ranges.Damaged) as reason:
            say("downloading whole packages: %s" % reason)
            for folder in work, target:
                shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(work)
            received = unpack_whole(requirements, libraries, work, target)
        names = [name for folder in (work, target) for name in os.listdir(os.path.join(folder, "lib"))]
        missing = libraries.difference(names)
        if missing or not any(name.startswith("libgomp") for name in names):
            stop("the downloaded packages lack %s: third_party/requirements.txt and fetch.py do not fit together."
                 % (", ".join(sorted(missing)) or "libgomp"))
        publish(work, target)
        say("downloaded %.0f MB of libtorch" % (received / 1e6))
    except (OSError, zipfile.BadZipFile) as error:
        stop("unpacking libtorch failed (%s): free disk space in %s and run ./build.sh again." % (error, parent))
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if not os.path.exists(os.path.join(target, "files")):
            shutil.rmtree(target, ignore_errors=True)


if __name__ == "__main__":
    main()
