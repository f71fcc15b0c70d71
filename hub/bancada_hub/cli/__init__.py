"""The site's nouns of `bancada …`: one file a noun, each with `register(subparsers)`."""
