"""One skin for the hub's pages and the console: templates, styles, icons, words in two languages."""
