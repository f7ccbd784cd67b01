"""MLIR's own route for Intel's GPUs: XeGPU of a workgroup with layouts, which MLIR's passes distribute.

The stages and their parameters are those of Lighthouse's example of a fused attention (llvm/lighthouse, pull
request 153).  Restrictions are those of the passes of MLIR 22.
"""
