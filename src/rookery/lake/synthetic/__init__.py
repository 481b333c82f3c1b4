"""Synthetic data: what a fleet and its mesh would have reported, with known faults.

    population: devices, servers    mesh: realms and links    faults: which device has which, when
         └──────────────┬──────────────────┴──────────────┬─────────────────┘
         device_reports, link_quality, *_days     ground_truth: the same faults, to compare with
                        └─▶ dataset ─▶ landing rows in order of arrival ─▶ landing, spool_files

Every value is a function of seed, sender and time: a dataset is the same however it is cut into
chunks, and a repeated report is the same to the bit. Measured values are multiples of powers of
two, so that their sums are exact in whatever order they are added.
"""
