"""Controllers: what a drive computes from reference and measurement."""
