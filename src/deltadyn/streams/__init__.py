"""Samples over a wire: batches, the transports that bring them, and models behind them."""
