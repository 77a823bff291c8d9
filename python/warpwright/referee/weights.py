# SPDX-License-Identifier: Apache-2.0
"""A module's tensors by name: state_dict, then other buffers, then tensor attributes; and how each is drawn anew."""

import torch

from warpwright.referee.trees import check_supported

_INTERNAL = {"_parameters", "_buffers", "_modules"}


class NamedTensor:
    """`owner` and `attribute` say where the module keeps it (owner None: inside a container, cannot be replaced)."""

    def __init__(self, name, tensor, kind, owner, attribute):
        self.name = name
        self.tensor = tensor
        self.kind = kind
        self.owner = owner
        self.attribute = attribute

    def current(self):
        """What the module holds now: another tensor if forward assigned a new one."""
        found = self.tensor if self.owner is None else getattr(self.owner, self.attribute, None)
        return found if isinstance(found, torch.Tensor) else self.tensor

    def put_back(self):
        if self.current() is not self.tensor:
            setattr(self.owner, self.attribute, self.tensor)


def named_tensors(model):
    found = {}
    seen = set()

    def add(name, tensor, kind, owner, attribute):
        if name not in found:
            check_supported(name, tensor)
            found[name] = NamedTensor(name, tensor, kind, owner, attribute)
            seen.add(id(tensor))

    for name, tensor in model.state_dict(keep_vars=True).items():
        if isinstance(tensor, torch.Tensor):
            path, _, attribute = name.rpartition(".")
            kind = "parameter" if isinstance(tensor, torch.nn.Parameter) else "buffer"
            add(name, tensor, kind, model.get_submodule(path), attribute)
    for name, tensor in model.named_buffers(remove_duplicate=False):
        path, _, attribute = name.rpartition(".")
        add(name, tensor, "buffer", model.get_submodule(path), attribute)
    for path, module in model.named_modules():
        for attribute, value in vars(module).items():
            if attribute in _INTERNAL:
                continue
            name = f"{path}.{attribute}" if path else attribute
            for suffix, tensor in _nested(value):
                if id(tensor) not in seen:
                    add(name + suffix, tensor, "attribute", None if suffix else module, attribute)
    return list(found.values())


def _nested(value, suffix=""):
    if isinstance(value, torch.Tensor):
        yield suffix, value
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _nested(part, f"{suffix}.{index}")
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _nested(part, f"{suffix}.{key}")


# A uniform sample spans sqrt(12) = 3.46 standard deviations; a normal one of 16 values or more nearly always spans more.
_UNIFORM_SPAN = 3.6
_UNIFORM_COUNT = 16


class Rule:
    """How one group of weights is drawn anew (docs/formats/task.md, "What is drawn")."""

    def __init__(self, draw, zeros=None):
        self.draw = draw
        self.zeros = zeros

    def apply(self, flat, generator):
        values = self.draw(torch.empty(flat.numel()), generator)
        if self.zeros is not None:
            values.masked_fill_(self.zeros, 0)
        flat.copy_(values)


def rule_for(item, flat, differs, redraw_constants):
    """The rule, or None where the tensor stays. `differs`: it takes another value when built under another seed."""
    if not flat.is_floating_point() or flat.numel() == 0:
        return None
    statistic = _running_statistic(item)
    if statistic is not None:
        return statistic if redraw_constants else None
    trained = item.kind == "parameter" and item.tensor.requires_grad
    values = flat.detach().float()
    if not (trained or differs) or not bool(values.isfinite().all()):
        return None
    low, high = (bound.item() for bound in values.aminmax())
    if low == high:
        return _constant_rule(low) if redraw_constants else None
    zeros = values == 0
    return Rule(_distribution(values, low, high), zeros if bool(zeros.any()) else None)


def _running_statistic(item):
    if item.kind != "buffer" or not isinstance(item.owner, torch.nn.modules.batchnorm._NormBase):
        return None
    if item.attribute == "running_mean":
        return Rule(lambda out, g: out.normal_(0.0, 0.1, generator=g))
    if item.attribute == "running_var":
        return Rule(lambda out, g: out.uniform_(0.5, 1.5, generator=g))
    return None


def _constant_rule(value):
    if value == 0:
        return Rule(lambda out, g: out.normal_(0.0, 0.1, generator=g))
    return Rule(lambda out, g: out.uniform_(0.5, 1.5, generator=g).mul_(value))


def _distribution(values, low, high):
    mean, std = values.mean().item(), values.std().item()
    if values.numel() >= _UNIFORM_COUNT and high - low <= _UNIFORM_SPAN * std:
        return lambda out, g: out.uniform_(low, high, generator=g)
    if low < 0 < high:
        return lambda out, g: out.normal_(mean, std, generator=g)
    kept = values.clone()

    def resample(out, g):
        chosen = kept[torch.randint(kept.numel(), (out.numel(),), generator=g)]
        return out.uniform_(-0.1 * std, 0.1 * std, generator=g).add_(chosen).clamp_(low, high)

    return resample
