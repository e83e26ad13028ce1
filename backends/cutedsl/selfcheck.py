"""The end of a generated module, read as text: compiling, binding to tensors, the check against a reference, timing.

Nothing here is imported or run by warpdraft; `fixed` copies it. The names in capitals, `launch`, `shapes` and `check_sizes`
come from the generated part; one of the three-function sets at the end gives reference, library call and amount of work.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import warnings

import cuda.bindings.driver as cuda
import cutlass
from cutlass import cute

NAME, ARCH, SIZES, INPUTS, OUTPUTS, DTYPE = "", "sm_90a", {}, (), (), cutlass.Float16
LIBRARY, LIBRARY_CAPTURED, CLUSTER, ORDERS, PARAMETERS, ADDED, LONGEST = "", True, 1, {}, {}, (), 0
DTYPES = {
    "fp16": cutlass.Float16,
    "bf16": cutlass.BFloat16,
    "e4m3": cutlass.Float8E4M3FN,
    "fp32": cutlass.Float32,
    "ue8m0": cutlass.Float8E8M0FNU,
}
# Of the largest type in use. e4m3: wgmma keeps fewer bits of its sums; scale factors are powers of two.
LIMITS = {"fp16": 5e-4, "bf16": 4e-3, "e4m3": 2e-3, "fp32": 1e-4, "ue8m0": 0.0}


def launch(*arguments): ...


def shapes(**sizes): ...


def check_sizes(**sizes): ...


def types(): ...


def build(options=""):
    """Compile for tensors of any size. Needs no GPU."""
    from cutlass.cute import runtime

    more = (cutlass.Int32(1), runtime.make_fake_stream())
    return cute.compile(launch, *fakes(), *more, options=f"--gpu-arch {ARCH} {options}")


def fakes():
    """Tensors without data, of any size, to compile for."""
    from cutlass.cute import runtime

    found = []
    for name in INPUTS + OUTPUTS:
        dtype, order = types()[name], ORDERS[name]
        unit = 128 // dtype.width if len(order) > 1 else 1  # rows of 16 bytes, which TMA asks for
        shape = tuple(cute.sym_int(divisibility=unit if d == order[-1] else 1) for d in range(len(order)))
        ranks = tuple(len(order) - 1 - order.index(d) for d in range(len(order)))  # 0 is the contiguous one
        tensor = runtime.make_fake_compact_tensor(dtype, shape, stride_order=ranks, assumed_align=16)
        found.append(tensor)
    return found


def views(tensors):
    """Torch tensors as the DSL takes them. They hold addresses only: keep the tensors."""
    import torch
    from cutlass.cute.runtime import from_dlpack

    if said := advice(tensors):
        warnings.warn(said, stacklevel=3)
    found = []
    for name, tensor in zip(INPUTS + OUTPUTS, tensors, strict=True):
        plain = tensor.view(torch.uint8) if tensor.element_size() == 1 else tensor  # DLPack has no e4m3
        view = from_dlpack(plain, assumed_align=16)
        view.element_type = types()[name]
        found.append(view.mark_layout_dynamic(leading_dim=ORDERS[name][-1]))
    return found


def advice(tensors):
    """What to do where sums are longer than the tensor cores keep exact enough; "" where they are not."""
    length = tensors[0].shape[-1]
    if not LONGEST or length <= LONGEST:
        return ""
    return (
        f"sums of {length} products of 8 bits: Hopper's tensor cores keep fewer bits of them than fp32 has, and beyond "
        f"{LONGEST} the error passes the check's limit; promote partial sums (Plan(promote=2), or sm90.add_fragment) "
        "or cut them (splits)"
    )


def multiprocessors():
    """Those that CTAs can run on at a time: where they come in clusters, some may be left over."""
    import torch

    if CLUSTER > 1:
        return CLUSTER * cutlass.utils.HardwareInfo().get_max_active_clusters(CLUSTER)
    return torch.cuda.get_device_properties(0).multi_processor_count


def clear(tensors):
    """Zero what the kernel adds to."""
    for name, tensor in zip(INPUTS + OUTPUTS, tensors, strict=True):
        if name in ADDED:
            tensor.zero_()


def bind(kernel, tensors):
    """A function that launches the kernel on contiguous torch tensors, on torch's current stream."""
    import torch

    sms = multiprocessors()
    arguments = views(tensors)

    def start(keep=tensors):  # the arguments hold addresses only
        clear(tensors)
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        kernel(*arguments, cutlass.Int32(sms), stream)

    return start


def synchronize():
    """Wait for the GPU."""
    import torch

    torch.cuda.synchronize()


def make_tensors(sizes):
    """Random inputs, and outputs full of NaN."""
    import torch

    dtypes = {
        "fp16": torch.float16,
        "bf16": torch.bfloat16,
        "e4m3": torch.float8_e4m3fn,
        "fp32": torch.float32,
        "ue8m0": torch.uint8,
    }
    torch.manual_seed(0)
    shape_of = shapes(**sizes)

    def made(name, fill):
        order = ORDERS[name]
        kind = type_name(types()[name])
        values = fill([shape_of[name][d] for d in order], device="cuda")
        stored = (127 + values.round() if kind == "ue8m0" else values).to(dtypes[kind])  # a power's exponent
        return stored.permute([order.index(d) for d in range(len(order))])

    def nans(shape, device):
        return torch.full(shape, float("nan"), device=device)

    return [made(name, torch.randn) for name in INPUTS], [made(name, nans) for name in OUTPUTS]


def check(kernel, sizes):
    """Run once; the relative error (Frobenius norm) of the worst output."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    inputs, outputs = make_tensors(sizes)
    bind(kernel, inputs + outputs)()
    synchronize()
    expected = reference(*inputs)
    errors = [
        ((o.float() - e.float()).norm() / e.float().norm()).item()
        for o, e in zip(outputs, expected, strict=True)
    ]
    return max(errors, key=lambda error: (math.isnan(error), error))


def measure(functions, captured, seconds=4e-3, rounds=15):
    """Seconds of one call of each function, sorted, timed in turn: about `seconds` of calls, as a CUDA graph if captured."""
    import torch

    def repeated(function, calls, capture):
        def run():
            for _ in range(calls):
                function()

        if not capture:
            return run
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        return graph.replay

    def taken(run):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        synchronize()
        return begin.elapsed_time(end) / 1e3

    calls, runs = [], []
    for function, capture in zip(functions, captured, strict=True):
        function()
        synchronize()
        probe = repeated(function, 3, capture)
        taken(probe)
        calls.append(max(3, round(seconds / (taken(probe) / 3))))
        runs.append(repeated(function, calls[-1], capture))
    times = [[] for _ in functions]
    for turn in range(rounds + 2):
        for i in range(len(functions)):
            i = (i + turn) % len(functions)
            once = taken(runs[i]) / calls[i]
            if turn >= 2:
                times[i].append(once)
    return [sorted(t) for t in times]


def dtype_name():
    return type_name(types()[(INPUTS + OUTPUTS)[0]])


def type_name(dtype):
    return next(name for name, known in DTYPES.items() if known is dtype)


def limit():
    """The relative error that the types allow."""
    return max(LIMITS[type_name(dtype)] for dtype in types().values())


def pairs(text):
    """name=value,name=value"""
    return dict(item.split("=", 1) for item in text.split(",") if item)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    example = ",".join(f"{name}={value}" for name, value in SIZES.items())
    parser.add_argument("--size", type=pairs, action="append", help=f"e.g. {example}; again for more sizes")
    parser.add_argument("--param", type=pairs, default={}, help="e.g. dtype=bf16")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-timing", action="store_true", help="check only")
    parser.add_argument("--compile", metavar="DIR", help="write kernel.ptx and kernel.cubin; needs no GPU")
    options = parser.parse_args()
    asked = [SIZES | {name: int(value) for name, value in size.items()} for size in options.size or [{}]]
    unknown = sorted(
        {name for size in asked for name in size} - SIZES.keys() | options.param.keys() - PARAMETERS.keys()
    )
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    for name, value in options.param.items():
        if value not in DTYPES or DTYPES[value].width != globals()[PARAMETERS[name]].width:
            same = [n for n, dtype in DTYPES.items() if dtype.width == globals()[PARAMETERS[name]].width]
            parser.error(f"{name} must be one of {', '.join(same)}")
        globals()[PARAMETERS[name]] = DTYPES[value]
    if options.compile:
        return compile_to(options.compile)
    for size in asked:
        try:
            check_sizes(**size)
        except ValueError as error:
            parser.error(f"{size}: {error}")
    if missing := missing_here():
        parser.error(f"{missing}; --compile DIR needs no GPU")
    kernel = build()
    return max([report(kernel, size, options) for size in asked])


def missing_here():
    """What the check needs and this machine does not have; "" where it can run."""
    major, minor = divmod(int(ARCH.strip("sm_a")), 10)
    needs = f"the check needs a GPU of compute capability {major}.{minor} ({ARCH})"
    try:
        import torch
    except ImportError:
        return f"{needs} and PyTorch, which is not installed"
    if not torch.cuda.is_available():
        return f"{needs}, and PyTorch finds no GPU"
    if torch.cuda.get_device_capability() != (major, minor):
        return f"{needs}, not {torch.cuda.get_device_name()}"
    return ""


def compile_to(folder):
    """Write kernel.ptx and kernel.cubin."""
    with tempfile.TemporaryDirectory() as scratch:
        kernel = build(f"--keep-ptx --keep-cubin --dump-dir {scratch}")
        found = {"kernel.ptx": kernel.__ptx__.encode(), "kernel.cubin": kernel.__cubin__}
    os.makedirs(folder, exist_ok=True)
    for name, content in found.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    return 0


def report(kernel, sizes, options):
    """Check, time, print; the exit status."""
    import torch

    error, allowed = check(kernel, sizes), limit()
    found = {"kernel": NAME, "device": torch.cuda.get_device_name(), "dtype": dtype_name(), "sizes": sizes}
    found |= {"right": error <= allowed, "error": error, "limit": allowed}
    inputs, outputs = make_tensors(sizes)
    found |= {"message": advice(inputs)}
    if not options.no_timing:
        functions = [bind(kernel, inputs + outputs)] + [lambda: library(inputs, outputs)] * bool(LIBRARY)
        each = measure(functions, (True, LIBRARY_CAPTURED)[: len(functions)])
        own, *others = (times[len(times) // 2] for times in each)
        spread = (each[0][len(each[0]) * 3 // 4] - each[0][len(each[0]) // 4]) / own
        amount, unit = work(inputs, outputs)
        found |= {"seconds": own, "rate": amount / own / 1e12, "unit": unit}
        found |= {"spread": spread}
        for other in others:
            found |= {"library": LIBRARY, "library_seconds": other, "ratio": other / own}
    if options.json:
        print(json.dumps(found))
    else:
        verdict = "right" if found["right"] else "WRONG"
        print(f"{NAME} {found['dtype']} {sizes}: {verdict}, relative error {error:.1e} (limit {allowed:.0e})")
        if "rate" in found:
            beside = f"; {found['ratio']:.3f} of {LIBRARY}" if LIBRARY else ""
            print(f"{own * 1e6:.1f} us, {found['rate']:.2f} {unit}{beside}")
    return 0 if found["right"] else 1


def reference(*inputs): ...


def library(inputs, outputs): ...


def work(inputs, outputs): ...


if __name__ == "__main__":
    sys.exit(main())
