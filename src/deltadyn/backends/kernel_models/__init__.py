"""What the compiled kernels compute, as data that a tape traces; C is written when they are built.

`motion`, `columns`, `terms`, `passive` and `plant` define kernels over the model's own source,
`kernels` lists them and traces one, and `headers` writes the C that the extension includes.
"""
