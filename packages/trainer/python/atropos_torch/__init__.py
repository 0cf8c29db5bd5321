"""The learning engine `torch` of Atropos: one process per GPU, driven by the trainer (see `link`)."""
