"""Stock references, read as text: what a kernel computes, the library call it is compared with, and its amount of work."""


def gemm_reference(a, b):
    """C = A B^T in float32."""
    return [a.float() @ b.float().t()]


def gemm_library(inputs, outputs):
    import torch

    torch.mm(inputs[0], inputs[1].t(), out=outputs[0])


def gemm_work(inputs, outputs):
    (m, k), (n, _) = inputs[0].shape, inputs[1].shape
    return 2 * m * n * k, "TFLOP/s"


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
