"""Identification methods: a file per method."""
