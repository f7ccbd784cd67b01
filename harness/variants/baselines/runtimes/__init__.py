"""Inference runtimes for processors as baselines: ONNX Runtime and OpenVINO."""
