# SPDX-License-Identifier: Apache-2.0
"""Where tensors live: cast, grouped by shared storage, and moved into the judge's arena with sharing and strides intact.

The solution gets contiguous copies. The reference computes on the arena itself where a tensor is contiguous and shares with
none but its equals; other storages stay in memory of our own, and `publish` refreshes the contiguous copies.
"""

import mmap
from collections import namedtuple

import torch

Member = namedtuple("Member", "index size stride offset")


class Group:
    """Tensors over one storage. `flat`: its elements, 1-dimensional. `whole`: every member is exactly `flat`, contiguous."""

    def __init__(self, flat, members, whole):
        self.flat = flat
        self.members = members
        self.whole = whole

    def bound(self, member):
        return self.flat.as_strided(member.size, member.stride, member.offset)


class Placement:
    def __init__(self, tensors, dtype=None):
        """`tensors`: a list with None for what is no tensor. `dtype`: what floating ones are cast to."""
        self.count = len(tensors)
        self.groups = _groups(tensors, dtype)
        self.copies = []
        self.tensors = self._bind()

    def cast(self, dtype):
        """A second placement of the same structure with floating values in `dtype`, in memory of its own."""
        twin = object.__new__(Placement)
        twin.count = self.count
        twin.groups = [
            Group(g.flat.to(dtype if g.flat.is_floating_point() else g.flat.dtype, copy=True), g.members, g.whole)
            for g in self.groups
        ]
        twin.copies = []
        twin.tensors = twin._bind()
        return twin

    def refresh(self, other):
        """Takes over the values of another placement of the same structure."""
        for mine, theirs in zip(self.groups, other.groups, strict=True):
            mine.flat.copy_(theirs.flat)

    def same_structure(self, other):
        return len(self.groups) == len(other.groups) and all(
            a.members == b.members and a.flat.shape == b.flat.shape and a.flat.dtype == b.flat.dtype
            for a, b in zip(self.groups, other.groups)
        )

    def move(self, views):
        """Into the arena. `views`: contiguous arena tensors, None where there is none."""
        self.copies = []
        for group in self.groups:
            rest = group.members
            if group.whole:
                flat = views[rest[0].index].view(-1)
                flat.copy_(group.flat)
                group.flat = flat
                rest = rest[1:]
            self.copies += [(views[member.index], member.index) for member in rest]
        self.tensors = self._bind()
        self.publish()

    def publish(self):
        for view, index in self.copies:
            view.copy_(self.tensors[index])

    def _bind(self):
        tensors = [None] * self.count
        for group in self.groups:
            for member in group.members:
                tensors[member.index] = group.bound(member)
        return tensors


def _groups(tensors, dtype):
    sharing = {}
    for index, tensor in enumerate(tensors):
        if tensor is not None:
            # An empty tensor has no memory to share.
            key = (tensor.untyped_storage()._cdata, tensor.dtype) if tensor.numel() else index
            sharing.setdefault(key, []).append((index, tensor.detach()))
    groups = []
    for same in sharing.values():
        first = same[0][1]
        whole = first.is_contiguous() and all(_geometry(tensor) == _geometry(first) for _, tensor in same)
        if whole:
            flat = first.reshape(-1)
        else:
            storage = first.untyped_storage()
            flat = torch.empty(0, dtype=first.dtype).set_(storage, 0, (storage.nbytes() // first.element_size(),))
        if dtype is not None and flat.is_floating_point():
            flat = flat.to(dtype)
        members = [Member(i, t.shape, t.stride(), 0 if whole else t.storage_offset()) for i, t in same]
        groups.append(Group(flat, members, whole))
    return groups


def _geometry(tensor):
    return tensor.shape, tensor.stride(), tensor.storage_offset()


class Arena:
    """The judge's memory, mapped once. Views of it keep it alive."""

    def __init__(self, fd, size):
        self.map = mmap.mmap(fd, size)

    def view(self, dtype, shape, offset):
        """Contiguous, with a storage of its own, as an allocation of torch's would have: sharing a storage would make
        torch.compile take all arguments for aliases."""
        count = torch.Size(shape).numel()
        if count == 0:
            return torch.empty(tuple(shape), dtype=dtype)
        return torch.frombuffer(self.map, dtype=dtype, count=count, offset=offset).view(tuple(shape))
