"""Surfaces: where Segue meets people and programs. Only here is anything printed."""
