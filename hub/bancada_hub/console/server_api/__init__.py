"""The server API: what people's servers ask of the site, on a listener of its own that serves no page.

It listens on the bridge's gateway, trusts no forwarded header, and takes one kind of proof: a server's own token, from
which the hub says whose server of which project asks. Shapes and the version rule are in `bancada.contract`.
"""
