#!/usr/bin/env bash
# glibc.sh FOLDER VERSION: libraries to link against that have of this system's glibc what VERSION of it had, so that
# what is linked runs with that version and all newer ones. They hold names alone: of each, the version that programs
# of VERSION ask for, which glibc keeps for them ever after.
set -euo pipefail
into=$1 newest=$2
cxx=${CXX:-g++}
mkdir -p "$into"

# The names that a library defines, by their places: place, size, kind, NAME@@VERSION.
names() {
    readelf -W --dyn-syms "$1" | awk -v newest="$newest" '
        function number(v, part) { sub(/.*GLIBC_/, "", v); split(v, part, "."); return part[1] * 1e6 + part[2] * 1e3 + part[3] }
        $7 != "UND" && $8 ~ /@GLIBC_[0-9.]+$/ && number($8) <= number(newest) {
            name = $8; sub(/@.*/, "", name)
            if (number($8) > at[name]) { at[name] = number($8); sub(/@+/, "@@", $8); line[name] = $2 " " $3 " " $4 " " $8 }
        }
        END { for (name in line) print line[name] }' | LC_ALL=C sort
}

for name in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2; do
    names "$($cxx -print-file-name="$name")" >"$into/names"
    # Data that have several names stand at one place, as programs copy them.
    awk '{
        data = $3 == "OBJECT"
        if (owed && !(data && $1 == place)) { print ".skip " owed "\n.balign 32"; owed = 0 }
        print (data ? ".data" : $3 == "TLS" ? ".section .tbss,\"awT\",@nobits" : ".text")
        print ".globl s" NR "\n.type s" NR ",@" (data ? "object" : $3 == "TLS" ? "tls_object" : "function")
        print ".size s" NR "," $2 + 0 "\ns" NR ":\n.symver s" NR "," $4
        place = $1
        if (data && $2 > owed) owed = $2 + 0
    } END { if (owed) print ".skip " owed }' "$into/names" >"$into/names.s"
    { sed 's/.*@@//' "$into/names" | sort -uV | sed 's/.*/& { };/'; echo 'APERTURE { local: s[0-9]*; };'; } >"$into/names.map"
    $cxx -shared -nostdlib -o "$into/$name" -Wl,-soname,"$name" -Wl,--version-script,"$into/names.map" "$into/names.s"
    ln -sf "$name" "$into/${name%.so.*}.so"
done
rm -f "$into"/names* "$into/libc.so"
echo "GROUP ( \"$into/libc.so.6\" $($cxx -print-file-name=libc_nonshared.a) AS_NEEDED ( $($cxx -print-file-name=ld-linux-x86-64.so.2) ) )" >"$into/libc.so"
