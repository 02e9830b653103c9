"""Keeping a store in order: backups, rebuild, cleanup, migrate, scrub, doctor, recover."""
