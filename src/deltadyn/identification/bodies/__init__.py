"""Bodies that can exist: cones, shapes, charts, priors, and robots made of them."""
