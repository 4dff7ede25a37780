#!/usr/bin/env bash
# Builds Aperture: finds or fetches libtorch, compiles the C++ side, then the Go programs into bin/.
#
#   ./build.sh          build all of it; a second run with nothing changed returns at once
#   ./build.sh libs     only what third_party/lib holds, which `go run` and `go test` link against
#   ./build.sh checked  libs, and the checked device, which tests compute on (torch/checked)
#   ./build.sh test     build, then vet and test all packages, those that compute once more on the checked
#                       device and, where there is AVX-512, without it
#   ./build.sh fuzz [N] libs, then every fuzzer for 10s, or N: 60s, or 10000000x for that many executions; what crashes
#                       one is kept below its testdata/fuzz
#   ./build.sh sanitize libs, then torch/csrc once more with AddressSanitizer and UndefinedBehaviorSanitizer, into
#                       third_party/sanitized, and the tests of torch, objectives and models under it; before them, a
#                       program of what runs beside the torch thread, with ThreadSanitizer
#   ./build.sh dist     build aperture-VERSION-linux-amd64.tar.zst in dist/: programs and libraries that run where neither
#                       compiler, Go nor Python is; with names of programs after it, these alone
#   ./build.sh check    build, then print versions, device, threads and instruction set
#   ./build.sh clean    remove what was built here; the downloaded libtorch stays in the user's cache
#
# Environment: LIBTORCH (a folder with lib/ and include/, or a Python torch package), CXX, XDG_CACHE_HOME;
# APERTURE_CUDA, 1 to fetch what a GPU needs too (2.5 GB) and 0 to leave it out, which else goes by the driver;
# ZSTD_CLEVEL, how hard dist packs;
# APERTURE_ISA (avx2 or avx512), the instruction set that test and check compute with, and test with no other.
#
# third_party/lib is all that Go sees: links to the libraries of libtorch wherever they lie, libtorch.so as
# a linker script, libcgotorch.so, libaperture.so with libaperture_first.so and, with CUDA, libaperture_cuda.so. Objects
# are kept by the digest of what went into them, so that editing a file of torch/csrc compiles its folder.
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly torch_version=2.11.0
readonly gotorch=github.com/wangkuiyi/gotorch module=github.com/aperture-ml/aperture
readonly root=$PWD
lib=$PWD/third_party/lib
readonly cache=${XDG_CACHE_HOME:-$HOME/.cache}/aperture
readonly cxx=${CXX:-g++}

fetching=0  # whether libtorch is being downloaded
released=0  # whether a release is made, which is of what is pinned alone
glibc=()    # the linker's flags that ask for no newer glibc than a release may

# What libstdc++ asks glibc 2.32 and newer, and g++ finds in the headers: whether the process has one thread. Go's have
# several, so that the libraries answer it themselves and run with an older glibc, too.
readonly one_thread='extern "C" { __attribute__((visibility("hidden"))) char __libc_single_threaded = 0; }'

say()  { printf 'build: %s\n' "$*" >&2; }
stop() { say "$*"; exit 1; }
[[ $cache == /* ]] || stop "XDG_CACHE_HOME is $XDG_CACHE_HOME, a relative path: set it to an absolute one."
digest() { sha256sum | cut -c1-64; }
# True when FILE holds KEY and every library of $lib is there.
current() {  # FILE KEY LIBRARY...
    local file=$1 key=$2 name
    shift 2
    for name; do [[ -f $lib/$name ]] || return 1; done
    [[ -f $file && $(<"$file") == "$key" ]]
}

# ---- the machine and its tools -------------------------------------------------------------------------

# True when the system lists all of these among the processor's flags.
processor_has() {
    local flags flag
    flags=" $(sed -n '/^flags/{s/^[^:]*://p;q}' /proc/cpuinfo) "
    for flag; do [[ $flags == *" $flag "* ]] || return 1; done
}

check_tools() {
    [[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] ||
        stop "Aperture builds on Linux with an x86-64 processor; this is $(uname -s) on $(uname -m)."
    processor_has avx2 fma ||
        stop "This processor lacks AVX2 or FMA, which Aperture needs: Intel has them since 2013 (Haswell), AMD since 2015 (Excavator)."
    command -v go >/dev/null ||
        stop "Go is missing: install Go 1.25 or newer from https://go.dev/dl and put its bin folder on PATH."
    # Inside the module this may switch to a newer toolchain; where it cannot, the local version is named.
    local answer
    answer=$(go env GOVERSION CGO_ENABLED CC 2>/dev/null) || answer=$(GOTOOLCHAIN=local GOFLAGS= go env GOVERSION CGO_ENABLED CC)
    { read -r go_version; read -r cgo_enabled; read -r cc; } <<<"$answer"
    local major minor
    IFS=. read -r major minor _ <<<"${go_version#go}"
    minor=${minor%%[!0-9]*}
    (( major > 1 || minor >= 25 )) ||
        stop "Go 1.25 or newer is needed and this is ${go_version}: install a newer one from https://go.dev/dl."
    command -v "${cxx%% *}" >/dev/null && command -v "${cc%% *}" >/dev/null ||
        stop "The C++ compiler ($cxx, and $cc for cgo) is missing: install it, for example with \`sudo apt-get install g++\`."
    cxx_version=$($cxx --version | head -n 1)
    local cxx_number
    cxx_number=$($cxx -dumpversion)
    (( ${cxx_number%%.*} >= 11 )) ||
        stop "g++ 11 or newer is needed and $cxx is $cxx_number: install a newer one, and name it by CXX."
    [[ $cgo_enabled == 1 ]] ||
        stop "cgo is switched off, and Aperture calls C++: run \`go env -w CGO_ENABLED=1\` or unset CGO_ENABLED."
}

# Compilers to run at once: the processors this process may use, with 1.5 GB of memory for each.
jobs_allowed() {
    local cpus memory
    cpus=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
    memory=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo)
    (( memory < cpus )) && cpus=$memory
    (( cpus > 0 )) && echo "$cpus" || echo 1
}

# ---- libtorch ------------------------------------------------------------------------------------------

# The version that the headers in $1 state, or nothing.
header_version() {
    local file
    for file in "$1"/torch/headeronly/version.h "$1"/torch/csrc/api/include/torch/version.h; do
        [[ -f $file ]] || continue
        sed -n 's/^#define TORCH_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\).*/\2/p' "$file" | paste -sd.
        return
    done
}

# The folder of an installed Python torch of the pinned version, or nothing; with APERTURE_CUDA=1 it has to have CUDA.
# Torch is not imported, which would take seconds; the search starts at / so that our own folder torch is not taken for
# it.
python_torch() {
    command -v python3 >/dev/null || return 0
    (cd / && python3 - "$torch_version" "${APERTURE_CUDA:-}") 2>/dev/null <<'PYTHON' || true
import importlib.util, os, re, sys
spec = importlib.util.find_spec("torch")
if spec and spec.origin:
    folder = os.path.dirname(spec.origin)
    text = open(os.path.join(folder, "version.py")).read()
    found = re.search(r"__version__ = '([0-9.]+)", text)
    library = "libtorch_cuda.so" if sys.argv[2] == "1" else "libtorch_cpu.so"
    if found and found.group(1) == sys.argv[1] and os.path.exists(os.path.join(folder, "lib", library)):
        print(folder)
PYTHON
}

# True when every library of a cache entry has the size it was unpacked with.
intact() {
    local size name
    [[ -f $1/files && -f $1/SHA256SUMS ]] || return 1
    while read -r size name; do
        [[ $(stat -c %s "$1/lib/$name" 2>/dev/null) == "$size" ]] || return 1
    done <"$1/files"
}

# True where this machine has a driver for NVIDIA's GPUs.
has_driver() {
    [[ -e /proc/driver/nvidia/version || -e /usr/lib/wsl/lib/libcuda.so.1 ]] || { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep -q 'libcuda\.so\.1 '
}

# True where the libtorch that is fetched should have CUDA: where there is a driver, unless APERTURE_CUDA says it.
wants_cuda() {
    case ${APERTURE_CUDA:-} in
        '') has_driver ;;
        0) return 1 ;;
        1) return 0 ;;
        *) stop "APERTURE_CUDA=$APERTURE_CUDA is neither 1, to fetch the libraries for a GPU, nor 0, to leave them out." ;;
    esac
}

# Sets $torch (a folder with lib/ and include/) and $torch_from (in words). Where it has to be fetched, the headers and
# libgomp are there when this returns, the libraries after finish_fetching.
find_libtorch() {
    local found
    torch=
    if [[ -n ${LIBTORCH:-} ]]; then
        (( ! released )) || stop "a release is made from the libtorch that build.sh fetches: unset LIBTORCH."
        torch=$(cd "$LIBTORCH" 2>/dev/null && pwd) && [[ -f $torch/lib/libtorch_cpu.so && -d $torch/include/torch ]] ||
            stop "LIBTORCH=$LIBTORCH has no lib/libtorch_cpu.so with include/torch beside it: name the folder of libtorch $torch_version, or unset LIBTORCH."
        found=$(header_version "$torch/include")
        [[ $found == "$torch_version" ]] ||
            stop "LIBTORCH=$LIBTORCH is libtorch ${found:-of unknown version} and Aperture needs $torch_version: name another folder, or unset LIBTORCH."
        torch_from="LIBTORCH, $torch"
        return
    fi
    (( released )) || torch=$(python_torch)
    if [[ -n ${torch:-} ]]; then
        torch_from="the installed Python package, $torch"
        return
    fi
    local pinned=(third_party/requirements.txt) cuda='' size='136 MB'
    if wants_cuda; then
        pinned+=(third_party/requirements-cuda.txt) cuda=cuda size='2.5 GB, with the libraries for a GPU, 3.6 GB on disk; APERTURE_CUDA=0 leaves these out'
    fi
    torch=$cache/libtorch-$torch_version-${cuda:+cuda-}$(cat "${pinned[@]}" | grep -v '^#' | digest | cut -c1-8)
    torch_from="the cache, $torch"
    intact "$torch" && return
    command -v python3 >/dev/null ||
        stop "Python 3 with pip is needed to download libtorch: install it, for example with \`sudo apt-get install python3-pip\`, or set LIBTORCH to a folder that holds libtorch $torch_version."
    mkdir -p "$cache" 2>/dev/null || stop "$cache cannot be made: make it writable, or set XDG_CACHE_HOME to another folder."
    # Two clones built at once download it once: the one that comes later waits for the lock. What downloads is no job
    # of this shell, whose `wait -n` would take it for a compiler; it holds the lock to its end.
    exec 8>"$cache/lock"
    flock 8
    if ! intact "$torch"; then
        [[ ! -e $torch/files ]] || say "the cached libtorch in $torch is damaged; fetching it again"
        rm -rf "$torch" "$torch".tmp-*
        say "downloading libtorch $torch_version ($size; once for this user)"
        fetching=1
        ( python3 -B third_party/fetch.py "$torch" $cuda 9>&- & )
    fi
    exec 8>&-
    while (( fetching )) && [[ ! -d $torch/include ]]; do  # the headers come first
        sleep 0.1
        flock -n "$cache/lock" true || continue
        [[ -d $torch/include ]] || exit 1  # it has said why
    done
}

# Waits until the libraries are there, too.
finish_fetching() {
    flock "$cache/lock" true
    fetching=0
    [[ -f $torch/files ]] || exit 1  # it has said why
}

# What is in the cache is held to its digests each time that it is linked anew; what else is used is the user's own.
verify_libtorch() {
    [[ $torch == "$cache"/* ]] || return 0
    (cd "$torch" && sha256sum --quiet --check SHA256SUMS) >&2 ||
        stop "the libtorch in $torch is not what was downloaded: remove that folder and run ./build.sh again."
}

# Links into $lib what libtorch_cpu.so needs and the system does not have in its own folders.
link_libtorch() {
    local name path line
    rm -f "$lib/obj/libtorch.key"
    find "$lib" -maxdepth 1 -type l -delete
    ln -s "$torch/lib/libtorch_cpu.so" "$torch/lib/libc10.so" "$lib/"
    while read -r line; do
        name=${line%% *}
        case $line in
            *"=> not found"*)
                stop "libtorch in $torch needs $name, which is not installed: install it, or unset LIBTORCH to use the version that build.sh fetches." ;;
            *"=> /"*)
                path=${line#*=> }
                path=${path% (0x*}
                case $path in /lib/*|/lib64/*|/usr/lib/*|/usr/lib64/*) continue ;; esac
                ln -sf "$(realpath "$path")" "$lib/$name" ;;
        esac
    done < <(env -u LD_LIBRARY_PATH ldd "$torch/lib/libtorch_cpu.so" | sed 's/^[[:space:]]*//')
    # gotorch asks the linker for -ltorch, a library that holds nothing itself.
    echo 'INPUT(libtorch_cpu.so)' >"$lib/libtorch.so"
}

# ---- the C++ side --------------------------------------------------------------------------------------

# What an object is made of: the command, the compiler, libtorch, and the content of every file that the
# compiler read outside libtorch and the system, by the list it wrote (relative to the current folder).
# Where libtorch lies is no part of it: two copies with the same settings give the same object.
dependencies() { sed -e 's/^[^:]*://' -e 's/\\$//' "$1" | tr -s ' \n' '\n\n' | grep . | LC_ALL=C sort -u; }
object_key() {  # SOURCE DEPENDENCY-LIST FLAG...
    local source=$1 list=$2
    shift 2
    {
        printf '%s\n' "$cxx_version" "$torch_settings" "$source" "${*//"$torch"/}"
        dependencies "$list" | xargs -d '\n' sha256sum
    } 2>/dev/null | digest
}

# Collecting garbage below a heap of 1 GB costs g++ a tenth of its time; no object knows of it.
readonly lazily='--param ggc-min-heapsize=1000000'

compile() {  # OBJECT SOURCE FLAG...
    local object=$1 source=$2
    shift 2
    rm -f "$object.key"
    : >"$object.begun"
    if ! $cxx $lazily "$@" -MMD -MF "$object.d" -MT object -c "$source" -o "$object" >"$object.log" 2>&1; then
        clear_progress
        cat "$object.log" >&2
        say "compiling $source failed; the compiler's message stands above"
        return 1
    fi
    [[ -s $object.log ]] && clear_progress && cat "$object.log" >&2
    # A source edited meanwhile may or may not be in the object: without a key it is compiled again.
    [[ -n $(dependencies "$object.d" | xargs -d '\n' -I{} find {} -newer "$object.begun") ]] ||
        object_key "$source" "$object.d" "$@" >"$object.key"
}

# How far the compiling is: one line that is written anew on a terminal, elsewhere a line now and then.
progress() {  # TITLE DONE ALL
    if [[ -t 2 ]]; then
        printf '\r\e[Kbuild: compiling %s: %d of %d' "$@" >&2
    elif (( $2 % 5 == 0 && $2 < $3 )); then
        say "compiling $1: $2 of $3"
    fi
}
clear_progress() { [[ ! -t 2 ]] || printf '\r\e[K' >&2; }

# Waits for one of the compilers that compile_all has started, whose variables it sees.
finish_one() {
    wait -n || failed=1
    running=$((running - 1)) finished=$((finished + 1))
    progress "$title" $finished ${#stale[@]}
}

object_of() { local name=${2##*/}; echo "$1/${name%.cc}.o"; }  # OBJECT-FOLDER SOURCE

# Compiles those of SOURCES whose object is not up to date, several at a time, from inside FOLDER, so
# that names in messages and dependency lists are short and free of the path. Sets $objects.
compile_all() {  # TITLE OBJECT-FOLDER FOLDER FLAGS-ARRAY SOURCE...
    local title=$1 into=$2 folder=$3 source object running=0 finished=0 failed=0
    local -n flags=$4
    shift 4
    local stale=()
    objects=()
    pushd "$folder" >/dev/null
    mkdir -p "$into"
    for source; do
        object=$(object_of "$into" "$source")
        objects+=("$object")
        [[ -f $object ]] && current "$object.key" "$(object_key "$source" "$object.d" "${flags[@]}")" || stale+=("$source")
    done
    if (( ${#stale[@]} )); then
        say "compiling $title: ${#stale[@]} of $# files, $jobs at a time"
        for source in "${stale[@]}"; do
            (( running < jobs )) || finish_one
            compile "$(object_of "$into" "$source")" "$source" "${flags[@]}" &
            running=$((running + 1))
        done
        while (( running > 0 )); do finish_one; done
        clear_progress
        (( ! failed )) || exit 1
    fi
    popd >/dev/null
}

link() {  # NAME OBJECT...
    local name=$1 gomp behind=() beside='$ORIGIN'
    shift
    # Nothing of it is called: it stands behind libgomp so that its constructor runs before libgomp's and libtorch's
    # (first.cc says why).
    [[ $name != libaperture.so ]] || behind=(-Wl,--no-as-needed "$lib/libaperture_first.so" -Wl,--as-needed)
    [[ $name != */* ]] || beside='$ORIGIN/..'
    # libgomp is the one that libtorch loads: two of them would keep two pools of threads.
    gomp=("$lib"/libgomp*.so*)
    $cxx -fPIC -x c++ -c - -o "$lib/obj/one_thread.o" <<<"$one_thread"
    $cxx "${sanitizers[@]}" -shared -o "$lib/$name.tmp" "$@" "$lib/obj/one_thread.o" "${glibc[@]}" -L"$lib" -Wl,-rpath-link,"$lib" -Wl,-rpath,"$beside" -Wl,-soname,"${name##*/}" \
        -Wl,-z,defs -Wl,--as-needed -ltorch_cpu -lc10 "${gomp[@]}" "${behind[@]}" || stop "linking $name failed; the linker's message stands above"
    mv -f "$lib/$name.tmp" "$lib/$name"
}

# gotorch's C++ comes unchanged out of Go's module cache, except for one name: its SetNumThreads lets a
# C++ exception reach Go when it is asked for no threads, as it is on one processor. It is compiled under
# another name, and torch/csrc has the one that Go calls. The library is kept in the user's cache. All files
# are compiled as one, since each takes twelve seconds to read the same headers and one to do its own.
#
# Sets $gotorch_key and $gotorch_kept, and where there is something to compile begins it, as $gotorch_job.
compile_gotorch() {
    local folder
    folder=$(go list -m -f '{{.Dir}}' $gotorch)
    if [[ -z $folder ]]; then
        say "downloading the Go module $gotorch"
        go mod download $gotorch || stop "Go could not download $gotorch: check the network, or GOPROXY."
        folder=$(go list -m -f '{{.Dir}}' $gotorch)
    fi
    local gotorch_flags=(-std=c++17 -O1 -fPIC -w -DSetNumThreads=gotorch_SetNumThreads -I.
        -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include")
    gotorch_key=$({ printf '%s\n' "$cxx_version" "$torch_settings" "${gotorch_flags[*]//"$torch"/}" "$one_thread"
                    cd "$folder" && LC_ALL=C sha256sum cgotorch/*.cc cgotorch/*.h; } | digest)
    gotorch_kept=$cache/gotorch-${gotorch_key:0:16}/libcgotorch.so
    current "$lib/obj/gotorch.key" "$gotorch_key" libcgotorch.so || [[ -f $gotorch_kept ]] && return
    say "compiling gotorch"
    mkdir -p "$lib/obj/gotorch"
    (   cd "$folder"
        printf '#include "%s"\n' cgotorch/*.cc >"$lib/obj/gotorch/all.cc"
        compile "$lib/obj/gotorch/all.o" "$lib/obj/gotorch/all.cc" "${gotorch_flags[@]}"
    ) &
    gotorch_job=$!
}

link_gotorch() {
    current "$lib/obj/gotorch.key" "$gotorch_key" libcgotorch.so && return
    if [[ ! -f $gotorch_kept ]]; then
        link libcgotorch.so "$lib/obj/gotorch/all.o"
        if mkdir -p "${gotorch_kept%/*}" 2>/dev/null; then  # a cache that cannot be written only costs the next clone time
            cp "$lib/libcgotorch.so" "$gotorch_kept.$$" && mv -f "$gotorch_kept.$$" "$gotorch_kept"
        fi
        rm -rf "$lib/obj/gotorch"
    else
        cp "$gotorch_kept" "$lib/libcgotorch.so.tmp" && mv -f "$lib/libcgotorch.so.tmp" "$lib/libcgotorch.so"
    fi
    echo "$gotorch_key" >"$lib/obj/gotorch.key"
}

# The digest of a folder of C++: sha256 over the lines "<sha256 of the file>  <name>\n" of every .cc and .h below it,
# in byte order of the names. A library answers it from a function, and tests compute it anew from the sources, so that
# a library older than they are is noticed.
csrc_digest() { (cd "$1" && LC_ALL=C && csrc_files .cc .h | xargs -d '\n' sha256sum | digest); }
# The files below the current folder whose names end so, without the leading "./", in byte order.
csrc_files() { local end; for end; do find . -type f -name "*$end" -printf '%P\n'; done | LC_ALL=C sort; }
compile_digest() {  # OBJECT FUNCTION FOLDER
    printf 'extern "C" __attribute__((visibility("default"))) const char* %s(void) { return "%s"; }\n' \
        "$2" "$(csrc_digest "$3")" | $cxx -fPIC -x c++ -c - -o "$1"
}

# Compiles once the headers of libtorch that nearly every file of torch/csrc reads, six seconds' worth. A
# compiler with the flag to include $lib/obj/libtorch.h takes libtorch.h.gch beside it instead, if it was made
# with the same flags, and else reads the text, which changes nothing: each file names the headers it needs.
precompile_headers() {
    local header=$lib/obj/libtorch.h key
    local text='#include <ATen/ATen.h>
#include <ATen/Parallel.h>'
    key=$(printf '%s\n' "$cxx_version" "$torch_settings" "${header_flags[@]}" "$text" | digest)
    current "$header.key" "$key" obj/libtorch.h.gch && return
    say "compiling libtorch's headers"
    rm -f "$header.gch" "$header.key"
    echo "$text" >"$header"
    (cd torch/csrc && $cxx $lazily "${header_flags[@]}" -x c++-header "$header" -o "$header.tmp") && mv -f "$header.tmp" "$header.gch" ||
        stop "compiling libtorch's headers failed; the compiler's message stands above"
    echo "$key" >"$header.key"
}

# Writes into $lib/obj/units a source for each folder of torch/csrc, which includes the folder's files, and prints what
# is to be compiled: libtorch's headers are then read, and their functions compiled, once a folder, which halves the
# time of a build from nothing. Files that are for other instructions as a whole stay alone; first.cc is a library of
# its own.
write_units() {
    local units=$lib/obj/units file folder
    local -A includes=()
    mkdir -p "$units"
    cd torch/csrc
    while read -r file; do
        if [[ $file == devices/first.cc ]] || grep -q '^#pragma GCC target' "$file"; then
            echo "$file"
        elif [[ $file != cuda/* ]]; then
            includes[${file%/*}]+="#include \"$file\""$'\n'
        fi
    done < <(csrc_files .cc)
    for folder in "${!includes[@]}"; do
        file=$units/${folder//\//_}.cc
        printf '%s' "${includes[$folder]}" >"$file"
        echo "../../${file#"$root"/}"
    done | LC_ALL=C sort
}

build_aperture() {
    local sources key object objects
    local aperture_flags=("${header_flags[@]}" -include "../../${lib#"$root"/}/obj/libtorch.h")
    mapfile -t sources < <(write_units)
    compile_all torch/csrc "$lib/obj/aperture" torch/csrc aperture_flags "${sources[@]}"
    use_libtorch
    link_gotorch
    key=$({ csrc_digest torch/csrc; cat "${objects[@]/%/.key}"; echo "$one_thread ${glibc[*]}"; } | digest)
    current "$lib/obj/aperture.key" "$key" libaperture.so libaperture_first.so && return
    compile_digest "$lib/obj/csrc_digest.o" ap_csrc_digest torch/csrc
    local first=$lib/obj/aperture/first.o rest=()
    for object in "${objects[@]}"; do [[ $object == "$first" ]] || rest+=("$object"); done
    link libaperture_first.so "$first"
    link libaperture.so "${rest[@]}" "$lib/obj/csrc_digest.o"
    echo "$key" >"$lib/obj/aperture.key"
}

# torch/csrc/cuda needs the headers of NCCL and CUDA. It is a library of its own, which a process opens where it has
# libtorch's side of CUDA. Without that side, or without the headers, sums between GPUs go by the CPU's memory. The
# linker checks that libtorch_cuda.so exports every symbol that the library needs.
build_cuda() {
    local folder sources key objects cuda_flags=("${header_flags[@]}")
    [[ -f $torch/lib/libtorch_cuda.so ]] || { rm -f "$lib/libaperture_cuda.so"; return 0; }
    # Where fetch.py puts the headers, where NVIDIA's Python packages have them, and where CUDA's toolkit does.
    for folder in "$torch/include/nvidia" "$torch"/../nvidia/{cu13,nccl}/include /usr/local/cuda/include; do
        [[ ! -d $folder ]] || cuda_flags+=(-isystem "$folder")
    done
    if ! $cxx "${cuda_flags[@]}" -fsyntax-only -x c++ - <<<'#include <nccl.h>' >"$lib/obj/nccl.log" 2>&1; then
        rm -f "$lib/libaperture_cuda.so"
        say "without NCCL, sums between GPUs go by the CPU's memory:" \
            "$(sed -n 's/.*fatal error: //p' "$lib/obj/nccl.log" | head -n 1);" \
            "unset LIBTORCH, or \`pip install --no-deps -r third_party/requirements-cuda.txt\` beside your Python torch"
        return
    fi
    mapfile -t sources < <(cd torch/csrc && csrc_files .cc | grep '^cuda/')
    compile_all torch/csrc/cuda "$lib/obj/aperture" torch/csrc cuda_flags "${sources[@]}"
    key=$({ stat -c '%s %Y' "$torch/lib/libtorch_cuda.so"; cat "${objects[@]/%/.key}"; } | digest)
    current "$lib/obj/cuda.key" "$key" libaperture_cuda.so && return
    link libaperture_cuda.so "${objects[@]}" -L"$torch/lib" -ltorch_cuda
    echo "$key" >"$lib/obj/cuda.key"
}

# The device that tests compute on instead of a GPU. No program links it; package checked loads it, and holds the digest
# of its sources, which is taken as that of torch/csrc is, against the one that it answers.
build_checked() {
    local sources key objects folder=torch/checked/csrc
    local checked_flags=("${header_flags[@]}" -include ../../../third_party/lib/obj/libtorch.h)
    (cd $folder && printf '#include "%s"\n' *.cc) >"$lib/obj/checked.cc"
    sources=("../../../${lib#"$root"/}/obj/checked.cc")
    compile_all "the checked device" "$lib/obj/checked" $folder checked_flags "${sources[@]}"
    key=$({ csrc_digest $folder; cat "${objects[@]/%/.key}"; } | digest)
    current "$lib/obj/checked.key" "$key" obj/libchecked.so && return
    compile_digest "$lib/obj/checked_digest.o" checked_digest $folder
    link obj/libchecked.so "${objects[@]}" "$lib/obj/checked_digest.o"
    echo "$key" >"$lib/obj/checked.key"
}

# Has the libraries of libtorch in $lib, and waits for them where they are being downloaded.
use_libtorch() {
    (( ! fetching )) || finish_fetching
    local link_key
    link_key=$({ echo "$torch"; find "$torch/lib" -maxdepth 1 -name '*.so*' -printf '%p %s %T@\n' | sort; } | digest)
    current "$lib/obj/libtorch.key" "$link_key" libtorch_cpu.so libtorch.so && return
    say "using libtorch $torch_version from $torch_from"
    verify_libtorch
    link_libtorch
    echo "$link_key" >"$lib/obj/libtorch.key"
}

build_libs() {
    mkdir -p "$lib/obj"
    find_libtorch
    local gomp_in=$torch/lib gotorch_key gotorch_kept gotorch_job=
    (( fetching )) || { use_libtorch; gomp_in=$lib; }
    # What can differ between copies of one version: the switches they were configured with, and the name of libgomp.
    torch_settings=$({ echo "$torch_version"; cd "$gomp_in"; printf '%s\n' libgomp*
                       find -L "$torch/include" -name cmake_macros.h -exec sha256sum {} + | cut -c1-64 | sort; } | digest)
    jobs=$(jobs_allowed)
    # How torch/csrc is compiled, from inside it. That no operation traps changes no result; without it g++ leaves loops
    # with a choice in them, such as those of exponentials and dropout, unvectorised for AVX2, which has no masks. Where
    # g++ 12 inlines libtorch's reference counts, it warns of an overflow that is none.
    header_flags=(-std=c++17 -O3 -march=x86-64 -fno-trapping-math -fopenmp -fPIC -fvisibility=hidden -fmacro-prefix-map=./=
        -Wall -Wextra -Wno-stringop-overflow -I. -Iprocesses
        -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include")
    # Either keeps one processor busy for about as long.
    compile_gotorch
    if (( jobs == 1 )) && [[ -n $gotorch_job ]]; then wait "$gotorch_job" || exit 1; fi
    precompile_headers
    if (( jobs > 1 )) && [[ -n $gotorch_job ]]; then wait "$gotorch_job" || exit 1; fi
    build_aperture
    build_cuda
    # Found by the preamble of package torch, which otherwise ends with one sentence instead of the linker's.
    [[ -f $lib/aperture_built.h ]] || echo '/* build.sh has built the libraries in this folder. */' >"$lib/aperture_built.h"
}

# ---- sanitizers ----------------------------------------------------------------------------------------

sanitizers=()  # flags of the compiler

# Compiles torch/csrc with AddressSanitizer and UndefinedBehaviorSanitizer into a folder of its own, and runs the tests
# that compute with that library in place of the usual one, which their run path gives way to. libtorch is not
# instrumented: what it does with memory that it owns is not seen, what our code does with that memory is.
sanitize() {
    local usual=$lib lib=$root/third_party/sanitized options gotorch_key=usual  # gotorch is taken as it is
    mkdir -p "$lib/obj"
    echo "$gotorch_key" >"$lib/obj/gotorch.key"
    # -O1 keeps loops as they stand, so that an access beyond an array shows; products are added without rounding
    # between, as at -O3, on which the bits of equal rows depend. Without vptr, which wants the type information of
    # classes that libtorch keeps to itself.
    sanitizers=(-fexpensive-optimizations -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    header_flags=("${header_flags[@]/#-O3/-O1}" -g1 "${sanitizers[@]}")
    link_libtorch
    cp "$usual/libcgotorch.so" "$lib/libcgotorch.so.tmp" && mv -f "$lib/libcgotorch.so.tmp" "$lib/libcgotorch.so"  # which a test may have mapped
    precompile_headers
    build_aperture
    # Go's runtime and libtorch keep memory to the end of the process on purpose, so that leaks are not looked for;
    # tests count live tensors instead. Go handles signals itself, and libtorch, which is not instrumented, fills
    # vectors that our code made.
    options=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:use_sigaltstack=0:protect_shadow_gap=0
    options+=:detect_container_overflow=0:alloc_dealloc_mismatch=0:abort_on_error=0:exitcode=66
    (( $# )) || { sanitize_threads "$usual"; set -- ./torch ./objectives ./models ./models/decode; }
    exec 9>&-
    say "go test $* under AddressSanitizer and UndefinedBehaviorSanitizer"
    go test -count=1 -timeout 60m -exec "env 'LD_LIBRARY_PATH=$lib' LD_PRELOAD=$($cxx -print-file-name=libasan.so) \
        ASAN_OPTIONS=$options UBSAN_OPTIONS=print_stacktrace=1" "$@"
}

# What runs beside the torch thread, under ThreadSanitizer: a program without Go, whose heap would lie where that keeps
# its own records.
sanitize_threads() {  # LIBRARIES
    local thread_flags=("${header_flags[@]}") objects
    thread_flags=("${thread_flags[@]/#-fsanitize=address,undefined/-fsanitize=thread}")
    compile_all "the program of threads" "$lib/obj/threads" torch/csrc thread_flags ../testdata/threads.cc border/autograd.cc border/handle.cc \
        processes/gradient_buckets.cc processes/process_group.cc
    $cxx -fsanitize=thread -o "$lib/obj/threads/threads" "${objects[@]}" -L"$1" -Wl,-rpath,"$1" -ltorch_cpu -lc10
    say "the program of threads under ThreadSanitizer"
    TSAN_OPTIONS="exitcode=66:suppressions='$root/torch/testdata/threads.supp'" "$lib/obj/threads/threads"
}

# ---- the Go side ---------------------------------------------------------------------------------------

# Compiles, in the background and giving way, the packages of others that the programs use: where all is new, that
# fills the time in which a download or a single large C++ file leaves processors idle. build_programs reports what
# fails here, and waits for it by the lock: it is no job of this shell, whose `wait -n` would take it for a compiler.
compile_dependencies() {
    exec 7>"$lib/.dependencies"
    flock 7
    (   {   go list -deps -f '{{with .Module}}{{if not .Main}}{{$.ImportPath}}{{end}}{{end}}' ./runs/... |
                grep -v "^$gotorch" | xargs -r nice go build
        } >/dev/null 2>&1 9>&- &
    )
    exec 7>&-
}

# The flag of Go's linker that has gold join its objects with the libraries, where binutils have it: a program takes
# half of the time that it takes with ld, which reads all that libtorch exports.
find_linker() {
    quick_linker=
    ! $cc -fuse-ld=gold -Wl,--version >/dev/null 2>&1 || quick_linker=-extldflags=-fuse-ld=gold
}

# The import paths of the programs that depend on package torch, or of those that do not and need neither cgo nor the
# libraries.
programs_of() {  # torch|pure
    go list -f '{{if eq .Name "main"}}{{$kind := "pure"}}{{range .Deps}}{{if eq . "'$module'/torch"}}{{$kind = "torch"}}{{end}}{{end}}{{$kind}} {{.ImportPath}}{{end}}' ./runs/... |
        sed -n "s/^$1 //p"
}

# Builds PROGRAM... into FOLDER. Those that train are one program under the name of each (runs/internal/training).
build_into() {  # FOLDER FLAGS-ARRAY PROGRAM...
    local folder=$1 program training=$module/runs/internal/training others=() runs=()
    local -n go_flags=$2
    shift 2
    for program; do
        if grep -qs 'train\.Main("' "runs/${program##*/}/main.go"; then runs+=("${program##*/}"); else others+=("$program"); fi
    done
    (( ! ${#runs[@]} )) || others+=("$training")
    go build "${go_flags[@]}" -o "$folder/" "${others[@]}" || stop "compiling the Go programs failed; the compiler's message stands above"
    for program in "${runs[@]}"; do ln -f "$folder/training" "$folder/$program"; done
    rm -f "$folder/training"
}

build_programs() {  # torch|pure
    local programs commit flags=(-ldflags="-w $quick_linker")  # without DWARF, which takes a fifth of the linking
    # A tree without a usable git repository is built all the same.
    commit=$(git rev-parse HEAD 2>/dev/null) || flags+=(-buildvcs=false)
    mapfile -t programs < <(programs_of "$1" | grep -v /internal/)
    (( ${#programs[@]} )) || return 0
    if [[ $1 == pure ]]; then
        say "compiling ${#programs[@]} Go programs without libtorch into bin/"
        CGO_ENABLED=0 build_into bin flags "${programs[@]}"
        return
    fi
    say "compiling ${#programs[@]} Go programs into bin/"
    [[ ! -f $lib/.dependencies ]] || flock "$lib/.dependencies" rm -f "$lib/.dependencies"
    # What differs from the commit: the Go tool's stamp counts files that git does not track, too.
    local changed
    if [[ -n $commit ]] && changed=$(git diff --name-only HEAD | tr -d "'\"" | paste -sd,); then
        flags=(-ldflags "-w $quick_linker -X 'github.com/aperture-ml/aperture/runs/internal/experiment.built=$commit:$changed'")
    fi
    build_into bin flags "${programs[@]}"
}

# Everything a build depends on, and everything it makes, by name, size and time of change. The first is
# taken before the build, so that what is edited during it is not taken as built.
inputs() {
    {
        git rev-parse HEAD 2>/dev/null || true  # programs name the commit, and the files that differ from it
        printf '%s\n' "$go_version" "$cxx_version" "$root" "${LIBTORCH:-}" "$cache" "${GOFLAGS:-}" "${APERTURE_CUDA:-}" "${glibc[@]}"
        [[ -n ${LIBTORCH:-} ]] || printf '%s\n' "${VIRTUAL_ENV:-}" "$(command -v python3 || true)"
        find . \( -path ./.git -o -path ./bin -o -path ./dist -o -path ./experiments -o -path ./third_party/lib -o -path ./third_party/sanitized \) -prune -o -type f -printf '%p %s %T@\n'
    } | LC_ALL=C sort | digest
}
products() {
    find -L "$lib" bin -maxdepth 1 \( -type f -o -type l \) ! -name '.*' -printf '%p %s %T@\n' 2>/dev/null | LC_ALL=C sort | digest
}

# Waits until nothing else builds in this folder, until 9 is closed.
lock() {
    until [[ $lib/.lock -ef /dev/fd/9 ]]; do  # clean removes what others wait for
        mkdir -p "$lib"
        exec 9>"$lib/.lock"
        flock -n 9 || { say "waiting for another build in this folder"; flock 9; }
    done
}

build() {
    check_tools
    find_linker
    lock
    (( ! released )) || link_for_release
    local before
    before=$(inputs)
    local tested=0
    [[ ${1:-} != checked && ${1:-} != test ]] || tested=1
    (( ! tested )) && [[ -f $lib/.stamp && $(<"$lib/.stamp") == "$before $(products)" ]] && return
    [[ ${1:-} == libs || ${1:-} == checked ]] || build_programs pure
    [[ ${1:-} == libs || -f $lib/libaperture.so ]] || compile_dependencies
    build_libs
    (( ! tested )) || build_checked
    [[ ${1:-} != libs && ${1:-} != checked ]] || return 0
    build_programs torch
    echo "$before $(products)" >"$lib/.stamp"
    say "done in $SECONDS s"
}

# The events of all tests, see internal/testreport. A rebuilt library is nothing that the cache of go test sees, hence
# -count=1; go vet has run. One package more than there are processors runs at a time, since tests wait for processes,
# signals and deadlines too.
go_test() { go test -json -count=1 -timeout 20m -vet=off -p=$((jobs + 1)) "$@" 2>&1; }

# Names the files that gofmt would change, and fails if there are any.
formatted() {
    local files
    files=$("$(go env GOROOT)/bin/gofmt" -l .) && [[ -z $files ]] && return
    echo "gofmt would change:" $files
    return 1
}

# All tests; those of the kernels once more without AVX-512, where there is AVX-512 and the caller has not chosen; and
# those of all that computes once more on the checked device. What is left out of the repetitions is quite the same in
# them, since it searches, is built, is read or is sent without a kernel or a device of its own, tries Go's collector,
# compares numbers of the CPU's threads on another device, or trains what the kernels' tests compare.
test_events() {
    local status=0
    local same='TestConstraintsAreMet|TestConstrainedIsExhaustive|ParameterCounts$|TestGPTStartsAsGPT2|TestTrainingUnderGarbageCollection'
    same+='|TestProcessGroup|TestNCCL|TestCutSafetensors'
    local kernels=(./torch ./objectives ./models ./models/decode) same_kernels="TestSGDTrainsTheSpectrum|$same"
    local on_device=("${kernels[@]}" ./models/language ./models/translation) same_device="ProgramOfTheGuide|TestLSTMThreads|TestAttentionalThreads|$same"
    phase_end build $((SECONDS * 1000)) 0 "$$"
    phase gofmt formatted 2>&1 || status=1
    phase 'go vet' go vet ./... 2>&1 || status=1
    phase tests go_test ./runs/internal/train ./... || status=1  # the longest first, so that it does not end alone
    if [[ -z ${APERTURE_ISA:-} ]] && processor_has avx512f avx512bw avx512cd avx512dq avx512vl; then
        APERTURE_ISA=avx2 APERTURE_EVERY_KERNEL=1 phase 'kernels with APERTURE_ISA=avx2' go_test -skip "$same_kernels" "${kernels[@]}" || status=1
    fi
    APERTURE_TEST_DEVICE=checked:0 phase 'on the checked device' go_test -skip "$same_device" "${on_device[@]}" || status=1
    return $status
}

# Runs a command as a phase, of which internal/testreport prints the seconds, and those of CPU.
phase() {  # NAME COMMAND...
    local name=$1 status=0 begun=${EPOCHREALTIME//[.,]/} before
    shift
    say "$name"
    read -ra before <"/proc/$BASHPID/stat"
    printf '{"Action":"phase","Output":"%s"}\n' "$name"
    "$@" || status=$?
    phase_end "$name" $(( (${EPOCHREALTIME//[.,]/} - begun) / 1000 )) $((before[15] + before[16])) "$BASHPID"
    return $status
}
# The end of a phase, with its time, and the computing of a shell's commands before it, in hundredths of a second.
phase_end() {  # NAME MILLISECONDS HUNDREDTHS SHELL
    local now
    read -ra now <"/proc/$4/stat"
    printf '{"Action":"phase-end","Output":"%s","Elapsed":%d.%03d,"CPU":%d}\n' "$1" $(($2 / 1000)) $(($2 % 1000)) \
        $(( (now[15] + now[16] - $3) / 100 ))
}

run_tests() {
    bin/check >/dev/null || exit  # with its sentence where this processor or APERTURE_ISA will not do
    # How tests and the programs that they build are linked; none reads debugging information.
    export GOFLAGS
    GOFLAGS="$(go env GOFLAGS) '-ldflags=-w $quick_linker'"
    test_events | go run ./internal/testreport
}

# Every fuzzer on one processor. Seeds and crashers run as ordinary tests, too. An input that reaches new code is made
# smaller in at most 100 tries, where the default spends a minute on each. Files lie in memory, where it has a place for
# them: on a disk readers of files get through an eighth of the inputs.
#
# Up to Go 1.26 the end of the seconds is now and then an error, without an input that failed (go.dev/issue/75804).
only_late() { grep -q '^ *context deadline exceeded$' "$1" && ! grep -q -e 'Failing input' -e '^panic' "$1"; }
run_fuzzers() {  # SECONDSs or EXECUTIONSx
    local file name said status=0
    [[ $1 =~ ^[1-9][0-9]*[sx]$ ]] || { say "fuzz takes how long each fuzzer runs, 60s or 10000000x, not '$1'"; exit 2; }
    [[ ! -w /dev/shm ]] || export TMPDIR=${TMPDIR:-/dev/shm}
    while IFS=: read -r file name; do
        say "$name of ${file%/*}, $1"
        said=$(mktemp)
        if ! go test "./${file%/*}" -run '^$' -fuzz "^$name\$" -fuzztime "$1" -fuzzminimizetime 100x -parallel 1 2>&1 | tee "$said"; then
            if [[ $1 = *s ]] && only_late "$said"; then say "$name: that is go's own error at the end of its time, and no input failed"
            else status=1; fi
        fi
        rm -f "$said"
    done < <(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sed 's/^\.\///; s/func //' | LC_ALL=C sort)
    return $status
}

# ---- a release -----------------------------------------------------------------------------------------

# The version of glibc that a release runs with, and with all newer ones: libtorch asks for no less.
readonly oldest_glibc=2.28

# Has the linker link for that version.
link_for_release() {
    mkdir -p "$lib/obj"
    CXX=$cxx internal/release/glibc.sh "$lib/obj/glibc" $oldest_glibc || stop "names of glibc $oldest_glibc cannot be made from this system's glibc"
    glibc=(-L"$lib/obj/glibc")
}

# The newest version of glibc that these files ask for.
least_glibc() { objdump -T "$@" 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | cut -c7- | sort -uV | tail -n 1; }

# Programs are linked anew for it: stripped, without this folder's name, and looking for libraries beside themselves
# alone.
make_dist() {  # PROGRAM...
    local version name folder file programs=() work=$root/dist/.work
    version=$(git describe --tags --always --dirty 2>/dev/null || echo unversioned)
    name=aperture-$version-linux-amd64 folder=$work/$name
    command -v zstd >/dev/null && command -v objdump >/dev/null || stop "dist needs zstd and objdump: install them, for example with \`sudo apt-get install zstd binutils\`."
    rm -rf "$work"
    mkdir -p "$folder/bin" "$folder/lib" "$work/overlay"
    if (( $# )); then
        programs=("${@/#/./runs/}")
    else
        mapfile -t programs < <({ programs_of torch; programs_of pure; } | grep -v /internal/)
    fi
    sed -e 's@-Wl,-rpath,${SRCDIR}/../third_party/lib -Wl,-rpath,$ORIGIN/../third_party/lib@-Wl,-rpath,$ORIGIN/../lib@' torch/cgo.go >"$work/overlay/cgo.go"
    cmp -s torch/cgo.go "$work/overlay/cgo.go" && stop "torch/cgo.go has other linker flags than dist looks for"
    printf '{"Replace": {"%s": "%s"}}\n' "$root/torch/cgo.go" "$work/overlay/cgo.go" >"$work/overlay.json"
    say "linking ${#programs[@]} programs for the release"
    # Before 2.34 threads, dlopen and the resolver were libraries of their own, and res_search had another name.
    # This system's libstdc++ may ask for more than a program does that links it.
    local flags=(-trimpath -overlay "$work/overlay.json"
        -ldflags "-s -w -extldflags '\"${glibc[*]}\" -Wl,--allow-shlib-undefined,--no-as-needed,-lpthread,-ldl,-lresolv'")
    CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -Dres_search=__res_search" build_into "$folder/bin" flags "${programs[@]}"
    for file in "$lib"/*.so*; do
        [[ $file != */libtorch.so && $file != *.tmp ]] || continue
        cp -L "$file" "$folder/lib/"
        [[ -L $file ]] || strip --strip-unneeded "$folder/lib/${file##*/}"
    done
    go run ./internal/release "$folder" "$torch" "$version" || exit 1
    cp README.md "$folder/"
    for file in "$folder"/bin/* "$folder"/lib/*; do
        [[ $(printf '%s\n' "$(least_glibc "$file")" $oldest_glibc | sort -V | tail -n 1) == "$oldest_glibc" ]] ||
            stop "${file#"$folder"/} asks for glibc $(least_glibc "$file"), and a release may ask for $oldest_glibc"
    done
    (cd "$folder" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
    # Equal contents make equal archives.
    ZSTD_CLEVEL=${ZSTD_CLEVEL:-15} tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct 2>/dev/null || echo 0)" \
        -I 'zstd -T0 --long=27 -q' -cf "dist/$name.tar.zst" "$name"
    (cd dist && sha256sum "$name.tar.zst" >"$name.tar.zst.sha256")
    cp "$folder/sbom.cdx.json" "dist/$name.cdx.json"
    rm -rf "$work"
    say "dist/$name.tar.zst: $(stat -c %s "dist/$name.tar.zst" | awk '{ printf "%.0f MB", $1 / 1e6 }'), for glibc $oldest_glibc and newer"
}

main() {
    case ${1:-build} in
        build) build ;;
        libs|checked) build "$1" ;;
        test)  build test; exec 9>&-; run_tests ;;
        fuzz)  build libs; exec 9>&-; run_fuzzers "${2:-10s}" ;;
        sanitize) shift; check_tools; lock; build_libs; sanitize "$@" ;;
        dist)  released=1 APERTURE_CUDA=0; build libs; shift; make_dist "$@" ;;
        check) build; exec 9>&-; exec bin/check ;;
        clean) lock; rm -rf bin dist third_party/lib third_party/sanitized; say "removed bin and what was built in third_party; downloads stay in $cache" ;;
        -h|--help|help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" ;;
        *) say "unknown command '$1': build (or nothing), libs, checked, test, fuzz, sanitize, dist, check and clean are known"; exit 2 ;;
    esac
}

main "$@"; exit  # on one line, so that the script may be edited while it runs
