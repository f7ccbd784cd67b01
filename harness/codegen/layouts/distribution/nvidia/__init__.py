"""What NVIDIA's lanes do beyond the general rules: `ldmatrix` and copies that bypass registers."""
