"""What serves JupyterLab: the start of a server, its checks, its configuration, and how it saves files."""
