"""What the peers of text share: the request, reading lines, and timed rounds.

Protocol, that of harness.py without memory. Standard input carries one JSON object, the
request, on its first line; the program answers {"ready": true} when it has read its
texts, with a note where it says what is timed. For each further line, "step 0", the work
is done anew and answered with {"seconds": ...}. Exit codes: 0 done, 2 bad request, 3 a
package is not installed.
"""
import json
import sys
import time


def request():
    return json.loads(sys.stdin.readline())


def missing(sentence):
    """Ends a program whose package is not installed; the sentence says how to get it."""
    print(sentence, file=sys.stderr)
    sys.exit(3)


def read_lines(paths):
    """The lines of all files, without their ends."""
    lines = []
    for path in paths:
        with open(path, encoding="utf-8", newline="\n") as f:
            lines.extend(line.rstrip("\n") for line in f)
    return lines


def answer(**values):
    print(json.dumps(values), flush=True)


def serve(work, forget=lambda: None, note=""):
    """Does rounds of work(), whose result is dropped once the time is taken; forget()
    comes before each and is not timed."""
    answer(ready=True, note=note)
    for command in sys.stdin:
        if command.strip() != "step 0":
            print(f"unknown request {command.strip()!r}: want step 0", file=sys.stderr)
            sys.exit(2)
        forget()
        begin = time.perf_counter()
        result = work()
        answer(seconds=time.perf_counter() - begin)
        del result
