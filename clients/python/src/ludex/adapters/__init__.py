"""Environments and options shared by the adapters for learning libraries."""
