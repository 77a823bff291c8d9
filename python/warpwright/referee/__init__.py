# SPDX-License-Identifier: Apache-2.0
"""The referee: runs a task's reference in the sandbox and answers the judge (docs/formats/referee.md).

What it says is a claim: it runs task code. The judge owns the buffers, the clock and the comparison.
"""
