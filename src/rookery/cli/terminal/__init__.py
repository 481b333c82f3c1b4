"""What all verbs print, read and end with: screen, options, progress, exit codes."""
