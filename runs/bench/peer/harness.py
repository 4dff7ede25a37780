"""What the peer programs share: finding torch, the line protocol, measuring.

Protocol. Standard input carries one JSON object, the configuration, on its
first line; the program answers {"ready": true, ...} when it has built
everything. Then each line asks for one piece of work and is answered by one
JSON object on a line of standard output:

    step i      runs piece i and times it
    memory i    the same after freed memory was handed back to the system

Both answers hold seconds, peak_delta (bytes) and what the program adds: for
training and losses, loss. The end of the input ends the program. Exit codes: 0 done, 2 bad configuration or
request, 3 torch is not installed.

Peak memory. Before a piece, gradients of the piece before are dropped, then the
program writes 5 to /proc/self/clear_refs, which lowers the kernel's high-water
mark of resident memory (VmHWM) to the present level (VmRSS). After the piece,
peak_delta = VmHWM - VmRSS before. The allocator keeps freed blocks, which
raises the level before and so hides a part of the peak: `memory` calls
malloc_trim first and is the number to compare. `step` does not, because a
trimmed heap makes the piece slower. The first pieces also load code and build
optimizer state: run a few before measuring.
"""

import ctypes
import json
import sys
import time

try:
    import torch
except ImportError:
    print("install it with: python3 -m pip install torch==2.11.0", file=sys.stderr)
    sys.exit(3)


def fail(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(2)


def configure(required, optional):
    """Reads the configuration; optional maps a key to its default. Every program has half, whether products are in
    bfloat16 (products), and device, where tensors are made until the first piece of work: a default device costs time
    at each call of torch, so that what a piece of work makes names its own."""
    optional = {"half": False, "device": "cpu", **optional}
    try:
        given = json.loads(sys.stdin.readline())
    except ValueError:
        fail("the first line of the input is not the JSON configuration")
    unknown = sorted(set(given) - set(required) - set(optional))
    missing = sorted(set(required) - set(given))
    if unknown or missing:
        fail(f"configuration: missing {missing}, unknown {unknown}")
    config = {**optional, **given}
    torch.set_num_threads(config["threads"])
    torch.manual_seed(config["seed"])
    if config["device"] != "cpu":
        torch.set_default_device(config["device"])
        torch.backends.cudnn.allow_tf32 = False  # as in products, and as ours
    return config


def products(c, enabled=True):
    """In this context products are in bfloat16, by autocast, where the configuration has half."""
    return torch.autocast(torch.device(c["device"]).type, torch.bfloat16, enabled=c["half"] and enabled)


def answer(**values):
    print(json.dumps(values), flush=True)


def resident():
    """VmRSS and VmHWM in bytes."""
    with open("/proc/self/status") as status:
        sizes = dict(line.split(":", 1) for line in status)
    return tuple(int(sizes[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))


class Process:
    """The memory of this process."""

    synchronize = staticmethod(lambda: None)

    @staticmethod
    def reset(trim):
        """The level before a piece of work, in bytes."""
        if trim:
            ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as marks:
            marks.write("5")
        return resident()[0]

    @staticmethod
    def peak():
        return resident()[1]


class GPU:
    """The memory that tensors on the GPU take."""

    synchronize = staticmethod(torch.cuda.synchronize)
    peak = staticmethod(torch.cuda.max_memory_allocated)

    @staticmethod
    def reset(_):
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()


def serve(prepare, work, pieces):
    """Answers requests. prepare() is neither timed nor measured; work(i) is, and
    returns a function, called afterwards, that gives more values to report."""
    torch.set_default_device(None)
    place = GPU if torch.cuda.is_initialized() else Process
    for line in sys.stdin:
        words = line.split()
        if len(words) != 2 or words[0] not in ("step", "memory") or not words[1].isdigit() or int(words[1]) >= pieces:
            fail(f"unknown request {line.strip()!r}: want step I or memory I with I below {pieces}")
        prepare()
        place.synchronize()
        before = place.reset(words[0] == "memory")
        begin = time.perf_counter()
        report = work(int(words[1]))
        place.synchronize()
        seconds = time.perf_counter() - begin
        answer(seconds=seconds, peak_delta=place.peak() - before, **report())


def warm(loss_of, pieces, parameters, rounds=2):
    """The seconds that torch.compile takes beyond the steps themselves: all pieces
    are worked through, forwards and backwards, until their shapes are known; the last
    round, in which nothing is compiled any more, is what the steps themselves take."""
    def once():
        begin = time.perf_counter()
        for i in range(pieces):
            loss_of(i)[0].backward()
        for parameter in parameters:
            parameter.grad = None
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    torch.set_default_device(None)
    parameters = list(parameters)
    first = sum(once() for _ in range(rounds))
    return max(0.0, first - rounds * once())


def serve_training(parameters, optimizer, loss_of, pieces, clip=None, **ready):
    """Answers requests with training steps. loss_of(i) gives the loss of piece i and
    the one to report; clip limits the gradients' joint norm. ready is what the first
    answer holds beside the number of parameters."""
    parameters = list(parameters)

    def step(i):
        loss, reported = loss_of(i)
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(parameters, clip, foreach=True)
        optimizer.step()
        return lambda: {"loss": reported.item()}

    answer(ready=True, params=sum(p.numel() for p in parameters), **ready)
    serve(lambda: optimizer.zero_grad(set_to_none=True), step, pieces)


def serve_loss(leaves, loss_of):
    """Answers requests with the one loss that loss_of() gives and its gradients for
    the leaves."""
    def prepare():
        for leaf in leaves:
            leaf.grad = None

    def step(_):
        loss = loss_of()
        loss.backward()
        return lambda: {"loss": loss.item()}

    answer(ready=True)
    serve(prepare, step, 1)
