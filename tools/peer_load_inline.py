# SPDX-License-Identifier: Apache-2.0
"""The peer of `judge`: torch's load_inline over the same kernel, allclose, and 100 timed iterations, from a cold process.

    python tools/peer_load_inline.py tasks/gelu_layernorm/model.py tests/honest/gelu_layernorm_table

The kernel is compiled as a torch extension that calls its ww_forward on the task's inputs and state_dict.
"""

import importlib.util
import pathlib
import sys
import tempfile
import time

import torch
from torch.utils.cpp_extension import load_inline

BINDING = r"""
#include <torch/extension.h>
static void view(const torch::Tensor& t, DLTensor& d) {
  d.data = t.data_ptr(); d.device = {1, 0}; d.ndim = (int)t.dim(); d.dtype = {2, 32, 1};
  d.shape = (int64_t*)t.sizes().data(); d.strides = (int64_t*)t.strides().data(); d.byte_offset = 0;
}
torch::Tensor forward(torch::Tensor x, std::vector<torch::Tensor> weights, std::vector<double> init) {
  torch::Tensor out = torch::empty_like(x);
  std::vector<DLTensor> tensors(2 + weights.size() + init.size());
  std::vector<DLTensor*> items;
  view(x, tensors[0]); view(out, tensors[1]);
  for (size_t i = 0; i < weights.size(); i++) view(weights[i], tensors[2 + i]);
  std::vector<int64_t> whole(init.size());
  for (size_t i = 0; i < init.size(); i++) {
    whole[i] = (int64_t)init[i];
    DLTensor& d = tensors[2 + weights.size() + i];
    const bool integral = (double)whole[i] == init[i];
    d = {integral ? (void*)&whole[i] : (void*)&init[i], {1, 0}, 0, {(uint8_t)(integral ? 0 : 2), 64, 1}, nullptr, nullptr, 0};
  }
  for (auto& t : tensors) items.push_back(&t);
  const char* no_names[16] = {};
  ww_call call = {};
  call.struct_size = sizeof call;
  call.inputs = {1, no_names, items.data()};
  call.outputs = {1, no_names, items.data() + 1};
  call.weights = {(int32_t)weights.size(), no_names, items.data() + 2};
  call.init = {(int32_t)init.size(), no_names, items.data() + 2 + weights.size()};
  call.threads = torch::get_num_threads();
  TORCH_CHECK(ww_forward(&call) == 0);
  return out;
}
"""


def main():
    task, solution = map(pathlib.Path, sys.argv[1:3])
    include = pathlib.Path(__file__).resolve().parent.parent / "include"
    spec = importlib.util.spec_from_file_location("reference", task)
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    source = "".join(path.read_text() for path in sorted((solution / "kernels").glob("*.cpp")))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        built = load_inline(
            "peer", [source + BINDING], functions=["forward"], build_directory=folder, extra_include_paths=[str(include)],
            extra_cflags=["-O3", "-march=native", "-fopenmp"], extra_ldflags=["-fopenmp"],
        )
        compiled = time.perf_counter()
        init = reference.get_init_inputs()
        model = reference.Model(*init)
        weights = list(model.state_dict().values())
        with torch.no_grad():
            inputs = reference.get_inputs()
            got = built.forward(inputs[0], weights, [float(value) for value in init])
            assert torch.allclose(model(*inputs), got, atol=1e-4, rtol=1e-4)
            for _ in range(100):
                built.forward(inputs[0], weights, [float(value) for value in init])
    print(f"compiled in {compiled - began:.1f} s, the rest {time.perf_counter() - compiled:.1f} s")


main()
