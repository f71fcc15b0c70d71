"""Projects on disk: homes, shared folders, overlays, and who may write where."""
