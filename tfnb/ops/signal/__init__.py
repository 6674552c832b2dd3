"""Audio and Fourier transforms."""
