"""Files between members: the service `files`, and who uses it.

`opened` leads into folders without following links, `part_file` and `source_file` are the two ends
of a copy on the disk, `transfer` carries bytes between them, `service` and `copying` are the member
that is asked and the one that asks. The rules are those of `rookery.mesh.files`.
"""
