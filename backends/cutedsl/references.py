"""Stock references, read as text: what a kernel computes, the library call it is compared with, and its amount of work."""

import functools

ACTIVATION = ""


def gemm_reference(a, b):
    """C = A B^T in float32."""
    return [a.float() @ b.float().mT]


def gemm_library(inputs, outputs):
    import torch

    (a, b), (c,) = inputs, outputs
    if a.element_size() == 1:
        one = torch.ones((), device=a.device)
        torch._scaled_mm(a, b.mT, scale_a=one, scale_b=one, out_dtype=c.dtype, out=c)
    elif c.dtype == a.dtype:
        torch.matmul(a, b.mT, out=c)
    else:
        torch.matmul(a, b.mT)


def gemm_work(inputs, outputs):
    return 2 * outputs[0].numel() * inputs[0].shape[-1], "TFLOP/s"


def scaled_gemm_reference(a, b, sfa, sfb):
    """C = (scaled A) (scaled B)^T in float32."""

    def scaled(values, factors):
        """Byte (32 t + r, 16 k + 4 q + s) of the factors is that of row 128 t + 32 q + r in block 4 k + s of 32 columns."""
        rows, columns = values.shape
        tiles = (2.0 ** (factors.float() - 127)).unflatten(1, (-1, 4, 4)).unflatten(0, (-1, 32))
        each = tiles.permute(0, 3, 1, 2, 4).flatten(3, 4).flatten(0, 2).repeat_interleave(32, 1)
        return values.float() * each[:rows, :columns]

    return [scaled(a, sfa) @ scaled(b, sfb).mT]


def scaled_gemm_library(inputs, outputs):
    """No one call does it in every version of torch."""


def scaled_gemm_work(inputs, outputs):
    return 2 * outputs[0].numel() * inputs[0].shape[-1], "TFLOP/s"


def linear_reference(a, b, bias):
    """activation(A B^T + bias) in float32."""
    return [activated(a.float() @ b.float().mT + bias.float())]


def linear_library(inputs, outputs):
    import torch

    activated(torch.nn.functional.linear(*inputs))


def linear_work(inputs, outputs):
    return 2 * outputs[0].numel() * inputs[0].shape[-1], "TFLOP/s"


def linear_residual_reference(a, b, bias, residual):
    """activation(A B^T + bias) + residual in float32."""
    return [activated(a.float() @ b.float().mT + bias.float()) + residual.float()]


def linear_residual_library(inputs, outputs):
    import torch

    activated(torch.nn.functional.linear(*inputs[:3])).add_(inputs[3])


def linear_residual_work(inputs, outputs):
    return 2 * outputs[0].numel() * inputs[0].shape[-1], "TFLOP/s"


def activated(x):
    import torch

    functions = {"relu": torch.relu, "silu": torch.nn.functional.silu}
    functions["gelu"] = functools.partial(torch.nn.functional.gelu, approximate="tanh")
    return functions[ACTIVATION](x) if ACTIVATION else x


def copy_reference(a):
    return [a]


def copy_library(inputs, outputs):
    outputs[0].copy_(inputs[0])


def copy_work(inputs, outputs):
    return 2 * inputs[0].numel() * inputs[0].element_size(), "TB/s"


def no_reference(*inputs):
    raise SystemExit("the document names no reference: nothing to check against")


def no_library(inputs, outputs):
    """Nothing to compare with."""


def no_work(inputs, outputs):
    return 0, ""
