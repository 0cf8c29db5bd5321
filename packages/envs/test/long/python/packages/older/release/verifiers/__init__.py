"""A verifiers before its v1 interface."""

__version__ = "0.1.9"
