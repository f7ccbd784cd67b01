"""What the GPU targets share."""
