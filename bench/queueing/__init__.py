"""Parts of bench/queue_http.py."""
