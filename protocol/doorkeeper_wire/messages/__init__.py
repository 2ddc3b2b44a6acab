"""The messages of the protocol, a module for each API; generated, see docs/explanation/codec.md."""
