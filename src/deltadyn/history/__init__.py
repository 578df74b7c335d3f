"""What was found about each robot over the years: entries, where they are kept, and drift."""
