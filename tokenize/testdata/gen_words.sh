#!/bin/sh
# The words of the corpus that subword-nmt tests itself with, and their counts:
#     sh gen_words.sh subword_nmt/tests/data/corpus.en > subword_nmt_words.txt
LC_ALL=C tr -s ' \n' '\n\n' <"$1" | grep -v '^$' | LC_ALL=C sort | uniq -c | awk '{print $2 " " $1}'
