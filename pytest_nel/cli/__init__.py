"""The ``nel`` command, one file a command."""
