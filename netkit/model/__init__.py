"""Typed records shared by every room: frozen dataclasses, standard library only."""
