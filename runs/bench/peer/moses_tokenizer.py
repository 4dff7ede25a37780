"""Times the Moses tokenizer.

    {"text": ["train.de"], "language": "de"}

The script is looked for below the folder $MOSES, a copy of mosesdecoder. A round runs the script over the text, one process from start to
end. Protocol: see rounds.py.

With no script at all, the Python package sacremoses stands in where it is
installed: its tokens are those of the scripts of 2017 (-moses 2017). Only its
work on lines that are already in memory is timed. The first answer names what is timed.
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import rounds

STAND_IN = "timing sacremoses, which stands in for tokenizer.perl of 2017"


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
    lines = rounds.read_lines(paths)
    return lambda: [tokenizer.tokenize(line, return_str=True) for line in lines]


def main():
    request = rounds.request()
    paths, language = request["text"], request.get("language", "en")
    script = script_below(os.environ.get("MOSES", ""))
    if script:
        note, work = f"timing {script}", running(script, paths, language)
    else:
        try:
            work = standing_in(paths, language)
        except ImportError:
            rounds.missing("no tokenizer.perl: set MOSES to a copy of mosesdecoder, or install the stand-in with: "
                           "python3 -m pip install sacremoses==0.2.0")
        note = STAND_IN
    rounds.serve(work, note=note)


if __name__ == "__main__":  # encode_text.py finds the script as this does
    main()
