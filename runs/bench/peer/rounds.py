"""What the peers of text share: the request, reading lines, and timed rounds.

The request is a JSON object, the program's one argument. For each line "go" on
standard input the work is done anew, and its seconds are printed as one line. Exit
codes: 0 done, 2 bad request, 3 a package is not installed.
"""
import json
import sys
import time


def request():
    return json.loads(sys.argv[1])


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


def serve(work, forget=lambda: None):
    """Does rounds of work(), whose result is dropped once the time is taken; forget()
    comes before each and is not timed."""
    for command in sys.stdin:
        if command.strip() != "go":
            print(f"unknown request {command.strip()!r}: want go", file=sys.stderr)
            sys.exit(2)
        forget()
        begin = time.perf_counter()
        result = work()
        print(time.perf_counter() - begin, flush=True)
        del result
