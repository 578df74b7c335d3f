"""Pictures and reports that open offline."""
