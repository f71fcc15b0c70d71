"""The console: Bancada's pages and its REST, as a service of the hub behind the site's proxy."""
