"""What Intel's lanes do beyond the general rules: blocks of a matrix, loaded and stored by a sub-group."""
