# SPDX-License-Identifier: Apache-2.0
raise ValueError("import went wrong")
