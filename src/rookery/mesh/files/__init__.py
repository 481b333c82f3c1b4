"""Files between members: folders and their permissions, paths, and the state of a transfer.

`folder` is what an operator allows, `path` what a member may name, `request` the opening of a
stream, `receiving` what a receiver takes and `fault` why it came to nothing. No file is touched
here; `rookery.runtime.files` does that.
"""
