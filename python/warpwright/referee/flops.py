# SPDX-License-Identifier: Apache-2.0
"""Floating-point operations of one forward: matrix products, convolutions and attention, as torch counts them."""

def count(workload):
    # Imported here: it costs most of a second, and only a profile asks.
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    # The fused attention of the CPU is not in torch's tables; the plain one is made of products that are.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        workload.run()
    workload.settle()
    return counter.get_total_flops()
