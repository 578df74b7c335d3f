"""The tabs of the studio."""
