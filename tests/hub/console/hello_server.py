"""What the tests start in place of JupyterLab: it answers below its prefix."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"hello from {os.environ['JUPYTERHUB_SERVICE_PREFIX']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    url = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
    ThreadingHTTPServer((url.hostname or "127.0.0.1", url.port or 0), Hello).serve_forever()
