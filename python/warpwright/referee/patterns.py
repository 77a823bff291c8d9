# SPDX-License-Identifier: Apache-2.0
"""Honey values: floating inputs reshaped from the task's own draw so that shortcuts show. They stay valid for the task."""

import torch

PATTERNS = ("large", "small", "equal", "heavy")


class Traits:
    """What the task's own draw promises about one group of floating inputs."""

    def __init__(self, group):
        values = group.flat.float()
        self.fixed = True
        if not group.flat.is_floating_point() or values.numel() == 0 or not bool(values.isfinite().all()):
            return
        low, high = (bound.item() for bound in values.aminmax())
        two_values = values.numel() > 2 and bool(((values == low) | (values == high)).all())
        self.fixed = two_values and low != high
        self.low, self.high = low, high
        self.rms = values.square().mean().sqrt().item()
        self.unit = low >= 0 and high <= 1
        shape = group.members[0].size
        self.row = shape[-1] if group.whole and len(shape) and shape[-1] > 1 else None
        if self.row is not None:
            sums = values.view(-1, self.row).sum(-1)
            self.row = self.row if self.unit and bool((sums - 1).abs().max() < 0.02) else None


def apply_pattern(groups, pattern, generator):
    """Overwrites the groups' values, which hold a draw of the task's own."""
    for group in groups:
        traits = Traits(group)
        if traits.fixed:
            continue
        values = _shaped(group.flat.float(), pattern, traits, _reach(group.flat.dtype), generator)
        if traits.row is not None:
            rows = values.view(-1, traits.row)
            rows /= rows.sum(-1, keepdim=True).clamp_min(1e-30)
        group.flat.copy_(values)


def _reach(dtype):
    """Exponents of ten that `large` and `heavy` go up to: float16 ends at 65504."""
    return (0.5, 1.2) if dtype == torch.float16 else (2.0, 3.0)


def _shaped(values, pattern, traits, reach, generator):
    if pattern == "equal":
        chosen = torch.randint(values.numel(), (1,), generator=generator)
        return torch.full_like(values, values[chosen].item() or traits.rms or 1.0)
    exponent = torch.empty(1).uniform_(*reach, generator=generator).item()
    if pattern == "large":
        return values.pow(0.125) if traits.unit else values * 10.0**exponent
    if pattern == "small":
        return values.pow(8) if traits.unit else values * 10.0**-exponent
    spread = torch.empty_like(values).normal_(0.0, 1.5, generator=generator).exp_()
    return values.pow(spread) if traits.unit else values * spread.clamp_max_(10.0 ** reach[1])


def nudge(groups, generator):
    """Changes one element of one floating input, within what the values promise."""
    free = [(group, traits) for group, traits in ((g, Traits(g)) for g in groups) if not traits.fixed]
    if not free:
        return
    group, traits = free[int(torch.randint(len(free), (1,), generator=generator))]
    members = [member for member in group.members if torch.Size(member.size).numel() > 0]
    member = members[int(torch.randint(len(members), (1,), generator=generator))]
    place = tuple(int(torch.randint(size, (1,), generator=generator)) for size in member.size)
    tensor = group.bound(member)
    old = tensor[place].item()
    if traits.unit:
        tensor[place] = old + 0.5 if old < 0.5 else old - 0.5
    else:
        step = 3 * traits.rms if traits.rms > 0 else 1.0
        tensor[place] = old + step if traits.low >= 0 or old <= 0 else old - step
