"""Times the Moses tokenizer.

    python3 moses_tokenizer.py '{"text": ["train.de"], "language": "de", "script": ".../tokenizer.perl"}'

Without "script" it is looked for below the folder $MOSES, a copy of
mosesdecoder. For each line "go" on standard input the script is run anew over
the text, one process from start to end, and its seconds are printed as one line.

With no script at all, the Python package sacremoses stands in where it is
installed: its tokens are those of the scripts of 2017 (-moses 2017). Only its
work on lines that are already in memory is timed. Standard error names what is timed.
"""
import json
import os
import subprocess
import sys
import tempfile
import time


def script_below(folder):
    for path in folder, f"{folder}/tokenizer/tokenizer.perl", f"{folder}/scripts/tokenizer/tokenizer.perl":
        if os.path.isfile(path):
            return path
    return None


def running(script, paths, language):
    text = tempfile.TemporaryFile()
    for path in paths:
        with open(path, "rb") as f:
            text.write(f.read())

    def work():
        text.seek(0)
        subprocess.run(["perl", script, "-q", "-l", language], stdin=text, stdout=subprocess.DEVNULL, check=True)

    return work


def standing_in(paths, language):
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(lang=language)
    lines = []
    for path in paths:
        with open(path, encoding="utf-8", newline="\n") as f:
            lines.extend(line.rstrip("\n") for line in f)
    return lambda: [tokenizer.tokenize(line, return_str=True) for line in lines]


def main():
    request = json.loads(sys.argv[1])
    paths, language = request["text"], request.get("language", "en")
    script = script_below(request.get("script") or os.environ.get("MOSES", ""))
    if script:
        print(f"timing {script}", file=sys.stderr)
        work = running(script, paths, language)
    else:
        try:
            work = standing_in(paths, language)
        except ImportError:
            print("no tokenizer.perl: set MOSES to a copy of mosesdecoder, or install the stand-in with: "
                  "python3 -m pip install sacremoses==0.2.0", file=sys.stderr)
            sys.exit(3)
        print("timing sacremoses, which stands in for tokenizer.perl of 2017", file=sys.stderr)
    for command in sys.stdin:
        if command.strip() != "go":
            print(f"unknown request {command.strip()!r}: want go", file=sys.stderr)
            sys.exit(2)
        begin = time.perf_counter()
        work()
        print(time.perf_counter() - begin, flush=True)


main()
