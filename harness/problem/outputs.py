"""What attention computes: the names of its outputs, which are those of kernels' buffers."""

OUTPUT = "output"
"""O, in the dtype of the inputs."""

LOG_SUM_EXP = "log_sum_exp"
"""log Σ exp(score) of each row, f32."""

OUTPUTS = (OUTPUT, LOG_SUM_EXP)
