"""Pages for people, made on the server; what is live on them is a small script of our own."""
