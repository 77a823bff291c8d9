# SPDX-License-Identifier: Apache-2.0
"""The Python side of warpwright: what has to run where torch runs."""
