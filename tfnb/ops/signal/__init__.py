"""Sound and Fourier transforms."""
