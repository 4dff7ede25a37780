"""Members of a wheel by HTTP ranges.

A wheel is a zip archive: its directory stands at its end, and says where in the file each member lies. Its member RECORD
lists the SHA-256 of all others, so that a pinned digest of RECORD pins each of them. Where a file lies, and how it is
reached (index, mirrors, proxy, certificates, passwords), is pip's to say: its own finder and session are asked. They are no
public interface of pip, and an index need not answer ranges: whatever fails there is Unsupported, and the caller has pip
download the whole file.
"""

import base64
import csv
import hashlib
import itertools
import os
import struct
import time
import zlib

END, DIRECTORY, LOCAL = b"PK\5\6", b"PK\1\2", b"PK\3\4"
TAIL = 1 << 16          # holds the end record with the longest comment
GAP = 1 << 20           # what lies between two wanted members is read too where it is shorter
ATTEMPTS, PAUSE = 5, 2  # of a connection that breaks, in seconds


class Unsupported(Exception):
    """Parts of the file are not to be had; the text says why."""


class Damaged(Exception):
    """What came is not what is pinned."""


class Member:
    def __init__(self, name, at, packed, size, method, crc):
        self.name, self.at, self.packed, self.size, self.method, self.crc = name, at, packed, size, method, crc


class Wheel:
    """One wheel on the index that pip is configured with, pinned by the digest of its RECORD."""

    def __init__(self, name, version, digest, record, arguments):
        self.name, self.received = name, 0
        try:
            self.url, self.session = locate(name, version, digest, arguments)
        except Exception as error:  # of any kind: pip's inside may change in any version
            raise Unsupported("pip does not say where %s lies (%s: %s)" % (name, type(error).__name__, error))
        self.members = self.directory()
        listed = [m for m in self.members if m.name.endswith(".dist-info/RECORD")]
        if len(listed) != 1:
            raise Damaged("%s has %d members RECORD" % (name, len(listed)))
        text = b"".join(chunk for _, chunk in self.read(listed))
        if hashlib.sha256(text).hexdigest() != record:
            raise Damaged("RECORD of %s is not the one that is pinned" % name)
        self.digests = {row[0]: row[1] for row in csv.reader(text.decode().splitlines())}

    def directory(self):
        """The members of the archive, in the order in which they lie in it; each one ends before its `until`."""
        tail, size = self.request("bytes=-%d" % TAIL)
        at = tail.rfind(END)
        if at < 0 or len(tail) < at + 22:
            raise Unsupported("the index's %s ends in no zip directory" % self.name)
        count, length, start = struct.unpack("<HII", tail[at + 10:at + 20])
        begin = size - len(tail)
        whole = tail if start >= begin else b"".join(self.stream(start, begin)) + tail
        position, members = start - size + len(whole), []
        for _ in range(count):
            if whole[position:position + 4] != DIRECTORY:
                raise Unsupported("the zip directory of %s is not understood" % self.name)
            method, _, _, crc, packed, full, n, extra, comment = struct.unpack(
                "<HHHIIIHHH", whole[position + 10:position + 34])
            offset, = struct.unpack("<I", whole[position + 42:position + 46])
            members.append(Member(whole[position + 46:position + 46 + n].decode(), offset, packed, full, method, crc))
            position += 46 + n + extra + comment
        members.sort(key=lambda m: m.at)
        for m, after in zip(members, members[1:] + [None]):
            m.until = after.at if after else start
            if m.until < m.at + m.packed or m.method not in (0, 8) or 0xffffffff in (m.at, m.packed, m.size):
                raise Unsupported("the zip directory of %s is not understood" % self.name)
        return members

    def request(self, wanted):
        """All bytes of a range, and the size of the file."""
        try:
            with self.get(wanted) as response:
                data = response.raw.read()
                self.received += len(data)
                return data, int(response.headers["Content-Range"].rsplit("/", 1)[1])
        except Unsupported:
            raise
        except Exception as error:  # pip's own copy of requests has its own kinds
            raise Unsupported("the index does not answer: %s" % error)

    def get(self, wanted):
        response = self.session.get(self.url, headers={"Range": wanted, "Accept-Encoding": "identity"}, stream=True)
        if response.status_code != 206 or "/" not in response.headers.get("Content-Range", ""):
            response.close()
            raise Unsupported("the index gives no parts of files (status %d)" % response.status_code)
        return response

    def stream(self, start, end):
        """The bytes from start to end, in chunks; a connection that breaks is made again for the rest."""
        failures = 0
        while start < end:
            before = start
            try:
                with self.get("bytes=%d-%d" % (start, end - 1)) as response:
                    for chunk in response.raw.stream(1 << 18, decode_content=False):
                        start += len(chunk)
                        self.received += len(chunk)
                        if start > end:
                            raise Unsupported("the index gives other parts of files than it was asked for")
                        yield chunk
                problem = "it ended early"
            except Unsupported:
                raise
            except Exception as error:
                problem = error
            failures = 0 if start > before else failures + 1
            if start < end:
                if failures == ATTEMPTS:
                    raise Unsupported("the connection broke: %s" % problem)
                time.sleep(PAUSE)

    def read(self, members):
        """Yields (member, chunk of its content) of members, which are in the order in which they lie in the file, an empty
        chunk first. Each one's size and CRC are checked at its end."""
        while members:
            run = [members[0]]
            for m in members[1:]:
                if m.at - run[-1].until > GAP:
                    break
                run.append(m)
            members = members[len(run):]
            source = Reader(self.stream(run[0].at, run[-1].until), run[0].at)
            for m in run:
                source.skip(m.at)
                header = source.exactly(30)
                if header[:4] != LOCAL:
                    raise Damaged("%s of %s does not begin where the directory says" % (m.name, self.name))
                source.skip(source.at + sum(struct.unpack("<HH", header[26:30])))
                inflater = zlib.decompressobj(-15) if m.method == 8 else None
                crc = size = 0
                yield m, b""
                for packed in source.chunks(m.packed):
                    chunk = inflater.decompress(packed) if inflater else packed
                    crc, size = zlib.crc32(chunk, crc), size + len(chunk)
                    if size > m.size:
                        break
                    yield m, chunk
                if inflater and not inflater.eof or size != m.size or crc != m.crc:
                    raise Damaged("%s of %s is damaged" % (m.name, self.name))
            source.skip(run[-1].until)

    def unpack(self, place, folder):
        """Writes each member m for which place(m.name) names a path below folder, and checks its digest."""
        wanted = [m for m in self.members if place(m.name)]
        for m, chunks in itertools.groupby(self.read(wanted), key=lambda read: read[0]):
            path, digest = os.path.join(folder, place(m.name)), hashlib.sha256()
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as target:
                for _, chunk in chunks:
                    target.write(chunk)
                    digest.update(chunk)
            stated = "sha256=" + base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")
            if self.digests.get(m.name) != stated:
                raise Damaged("%s of %s has not the digest that RECORD states" % (m.name, self.name))


class Reader:
    """Reads exact lengths from chunks; at is where in the file it stands."""

    def __init__(self, source, at):
        self.source, self.at, self.rest = source, at, b""

    def chunks(self, length):
        while length:
            if not self.rest:
                self.rest = next(self.source, b"")
                if not self.rest:
                    raise Unsupported("the index gave less than it was asked for")
            chunk, self.rest = self.rest[:length], self.rest[length:]
            self.at, length = self.at + len(chunk), length - len(chunk)
            yield chunk

    def exactly(self, length):
        return b"".join(self.chunks(length))

    def skip(self, to):
        for _ in self.chunks(to - self.at):
            pass


def locate(name, version, digest, arguments):
    """The address of the one file with this digest, and pip's own session to reach it with."""
    from pip._internal.cli.cmdoptions import make_target_python
    from pip._internal.commands import create_command
    from pip._internal.utils.hashes import Hashes
    from pip._vendor.packaging.specifiers import SpecifierSet
    command = create_command("download")
    options, _ = command.parse_args(arguments + ["--no-deps", "--no-cache-dir", name])
    options.cache_dir = None
    session = command._build_session(options)
    finder = command._build_package_finder(
        options=options, session=session, target_python=make_target_python(options))
    best = finder.find_best_candidate(name, SpecifierSet("==" + version), Hashes({"sha256": [digest]})).best_candidate
    if best is None or best.link.hash_name != "sha256" or best.link.hash != digest:
        raise Unsupported("it states no file with the pinned digest")
    if best.link.scheme not in ("http", "https"):
        raise Unsupported("it has the file without a network")
    return best.link.url_without_fragment, session
