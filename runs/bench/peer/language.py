"""What the peers that train language models share: text, weights, the check, serving.

The weights come from a file, so that both sides of a race begin with the same. The
first answer holds, from the first two chunks without noise, loss, their mean in
nats in float32, and gradients, the norm of the sum of their gradients for each name of a
weight in the file. `step i` trains on chunk i and also reports loss, the mean over
tokens. With compiled, a model goes through torch.compile after the check, and the first
answer holds compile_seconds.

chunks is a list of {"input": rows, "target": rows}, one row of ids a time step. weights names a safetensors file.
"""

import torch

import harness
from transformer import read_safetensors


def load(model, path, plain):
    """Copies the weights of a file into a model whose parameter of a name is
    plain(name); returns the parameters by the file's names."""
    parameters, named = dict(model.named_parameters()), {}
    for name, value in read_safetensors(path).items():
        parameter = parameters.pop(plain(name), None)
        if parameter is None or parameter.shape != value.shape:
            harness.fail(f"{path}: the model has no {name} of shape {list(value.shape)}")
        with torch.no_grad():
            parameter.copy_(value)
        named[name] = parameter
    if parameters:
        harness.fail(f"{path}: there is no {next(iter(parameters))}")
    return named


def serve(c, model, optimizer, plain=lambda name: name, reader=None):
    """Trains model, whose call with input, targets and carried state gives the loss to
    minimise, the one to report, and the new state. reader(model, path), where it is given, loads
    the weights in place of load."""
    chunks = [(torch.tensor(chunk["input"]), torch.tensor(chunk["target"])) for chunk in c["chunks"]]
    named = reader(model, c["weights"]) if reader else load(model, c["weights"], plain)
    carried = None

    def loss_of(i):
        nonlocal carried
        with harness.products(c, model.training):
            loss, nll, carried = model(*chunks[i], carried)
        return loss, nll

    model.eval()
    for module in model.modules():
        if isinstance(module, torch.nn.RNNBase):
            module.train()  # else cuDNN has no backward pass; these layers have no noise of their own
    total = 0.0
    for i in range(2):
        loss, nll = loss_of(i)
        loss.backward()
        total += nll.item() / 2
    gradients = {name: parameter.grad.norm().item() for name, parameter in named.items()}
    del loss, nll
    model.zero_grad(set_to_none=True)
    model.train()
    carried, ready = None, {}
    if c["compiled"]:
        model = torch.compile(model)
        ready["compile_seconds"] = harness.warm(loss_of, len(chunks), model.parameters())
        carried = None
    harness.serve_training(model.parameters(), optimizer, loss_of, len(chunks), clip=c["clip"], loss=total, gradients=gradients, **ready)
