"""Durable stores: embedded (SQLite) and shared (PostgreSQL); backups, copies, checks."""
