"""The machine that a site stands on: packages, engine, ports, proxy, services, and the checks of `bancada doctor`."""
